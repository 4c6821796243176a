#include "kernels/concat/concat.h"

#include <algorithm>

#include "kernels/concat/concat_gpu.h"
#include "kernels/concat/moves.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/concat/concat.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_CONCAT_CONCAT_CC_
#define DTNN_KERNELS_CONCAT_CONCAT_CC_
namespace dtnn {

// Rows of one part, copied or added to where they belong.
struct RowMove {
  DType dtype = DType::kFloat32;
  int64_t columns = 0;
  Operand from = {}, to = {};
  bool add = false;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_CONCAT_CONCAT_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void MoveTyped(const RowMove& move, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* from = move.from.At<const T>(row, 0);
    T* to = move.to.At<T>(row, 0);
    move.add ? Transform(Sum(), move.columns, to, from, static_cast<const T*>(to))
             : Transform(Copied(), move.columns, to, from);
  }
}

void MoveRows(const RowMove& move, int64_t begin, int64_t end) {
  DispatchCpuFloating(move.dtype,
                      [&](auto zero) HWY_ATTR { MoveTyped<decltype(zero)>(move, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(MoveRows);

class ConcatCpu : public Concat {
 public:
  explicit ConcatCpu(const ConcatSpec& spec) : spec_(spec) {}

  absl::Status Forward(std::span<const Tensor> inputs, const Tensor& y) override {
    for (const Tensor& x : inputs) {
      DTNN_RETURN_IF_ERROR(CheckOperands("concat", Device::Cpu(), spec_.dtype, {&x}));
    }
    DTNN_ASSIGN_OR_RETURN(const ConcatMoves moves,
                          ConcatMoves::Of(spec_, Device::Cpu(), y, inputs));
    Move(moves,
         [](const ConcatPart& part) { return RowMove{.from = part.part, .to = part.whole}; });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, std::span<const Tensor> dx,
                        std::span<const bool> accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckAccumulateFlags(dx.size(), accumulate.size()));
    DTNN_ASSIGN_OR_RETURN(const ConcatMoves moves, ConcatMoves::Of(spec_, Device::Cpu(), dy, dx));
    Move(moves, [&](const ConcatPart& part) {
      return RowMove{.from = part.whole, .to = part.part, .add = accumulate[part.index]};
    });
    return absl::OkStatus();
  }

 private:
  // Part by part for a block of rows that stays in cache, so that memory is passed over once even
  // where the parts of a row are narrower than a cache line.
  template <class MakeMove>
  void Move(const ConcatMoves& moves, const MakeMove& make_move) const {
    const ConcatLayout& layout = moves.layout();
    if (layout.rows == 0) return;
    const int64_t block = std::max<int64_t>(1, kCopyGrain / (layout.channels * layout.inner));
    // Calls run(move) for every part that is not where it belongs already.
    const auto for_each_move = [&](auto&& run) {
      moves.ForEachPart([&](const ConcatPart& part) {
        RowMove move = make_move(part);
        if (!move.add && part.IsWhereItBelongs()) return;
        move.dtype = spec_.dtype;
        move.columns = part.columns;
        run(move);
      });
    };
    bool nothing = true;
    for_each_move([&](const RowMove&) { nothing = false; });
    if (nothing) return;
    ParallelFor(0, layout.rows, block, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += block) {
        for_each_move([&](const RowMove& move) {
          HWY_DYNAMIC_DISPATCH(MoveRows)(move, first, std::min(end, first + block));
        });
      }
    });
  }

  ConcatSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Concat>> CreateConcat(DeviceContext& context,
                                                     const ConcatSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("concat", context.device(), spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<ConcatCpu>(spec);
  return CreateConcatGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
