#include "kernels/concat/concat.h"

#include <algorithm>

#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
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

struct Sum {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Copied {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return x;
  }
};

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
  move.dtype == DType::kFloat32 ? MoveTyped<float>(move, begin, end)
                                : MoveTyped<double>(move, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(MoveRows);

// How tensors of the operation split into rows: a pixel, an image (NCHW) or a matrix row.
struct RowLayout {
  int64_t rows = 0, channels = 0;
  int64_t inner = 1;  // elements of a row per channel

  RowLayout(const Tensor& tensor, TensorFormat format) {
    const Shape& shape = tensor.shape();
    const bool planes = shape.rank() == 4 && format == TensorFormat::kNCHW;
    channels = shape[planes ? 1 : shape.rank() - 1];
    inner = planes ? shape[2] * shape[3] : 1;
    rows = channels == 0 ? 0 : tensor.num_elements() / (channels * inner);
  }
};

class ConcatCpu : public Concat {
 public:
  explicit ConcatCpu(const ConcatSpec& spec) : spec_(spec) {}

  absl::Status Forward(std::span<const Tensor> inputs, const Tensor& y) override {
    for (const Tensor& x : inputs)
      DTNN_RETURN_IF_ERROR(CheckOperands("concat", Device::Cpu(), spec_.dtype, {&x}));
    int64_t skipped = 0;
    DTNN_RETURN_IF_ERROR(Check(y, inputs, skipped));
    Move(y, inputs, skipped, [](const Operand& whole, const Operand& part, size_t) {
      return RowMove{.from = part, .to = whole};
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, std::span<const Tensor> dx,
                        std::span<const bool> accumulate) override {
    if (accumulate.size() != dx.size()) {
      return InvalidArgument("concat: ", dx.size(), " gradients and ", accumulate.size(),
                             " accumulate flags, expected as many");
    }
    int64_t skipped = 0;
    DTNN_RETURN_IF_ERROR(Check(dy, dx, skipped));
    Move(dy, dx, skipped, [&](const Operand& whole, const Operand& part, size_t i) {
      return RowMove{.from = whole, .to = part, .add = accumulate[i]};
    });
    return absl::OkStatus();
  }

 private:
  // `skipped` becomes the number of channels of the empty part, if there is one.
  absl::Status Check(const Tensor& whole, std::span<const Tensor> parts, int64_t& skipped) const {
    DTNN_RETURN_IF_ERROR(CheckOperands("concat", Device::Cpu(), spec_.dtype, {&whole}));
    const int rank = whole.shape().rank();
    if (rank != 2 && rank != 4) {
      return InvalidArgument("concat: shape ", whole.shape().ToString(),
                             ", expected a matrix or images");
    }
    const RowLayout layout(whole, spec_.format);
    int64_t channels = 0, empty = 0;
    for (const Tensor& part : parts) {
      if (part.empty()) {
        ++empty;
        continue;
      }
      DTNN_RETURN_IF_ERROR(CheckOperands("concat", Device::Cpu(), spec_.dtype, {&part}));
      if (part.shape().rank() != rank) return DoesNotFit(part, whole);
      if (!SameButChannels(part.shape(), whole.shape())) return DoesNotFit(part, whole);
      channels += RowLayout(part, spec_.format).channels;
    }
    skipped = layout.channels - channels;
    const bool fits = empty == 0 ? skipped == 0 : empty == 1 && skipped > 0;
    if (fits) return absl::OkStatus();
    return InvalidArgument("concat: the parts have ", channels, " channels and ", empty,
                           " of them are empty, but the whole has ", layout.channels,
                           "; expected the same number, or one empty part that has the rest");
  }

  bool SameButChannels(const Shape& a, const Shape& b) const {
    const int channel_axis =
        a.rank() == 4 && spec_.format == TensorFormat::kNCHW ? 1 : a.rank() - 1;
    for (int axis = 0; axis < a.rank(); ++axis) {
      if (axis != channel_axis && a[axis] != b[axis]) return false;
    }
    return true;
  }

  static absl::Status DoesNotFit(const Tensor& part, const Tensor& whole) {
    return InvalidArgument("concat: a part of shape ", part.shape().ToString(), " does not fit in ",
                           whole.shape().ToString(), "; only the channels may differ");
  }

  // Part by part for a block of rows that stays in cache, so that memory is passed over once even
  // where the parts of a row are narrower than a cache line.
  template <class MakeMove>
  void Move(const Tensor& whole, std::span<const Tensor> parts, int64_t skipped,
            const MakeMove& make_move) const {
    const RowLayout layout(whole, spec_.format);
    if (layout.rows == 0) return;
    const int64_t row_size = layout.channels * layout.inner;
    const Operand all = OperandIn({layout.rows, row_size}, whole, spec_.format);
    const int64_t block = std::max<int64_t>(1, kCopyGrain / row_size);
    // Calls run(move) for every part that is not where it belongs already.
    const auto for_each_move = [&](auto&& run) {
      int64_t offset = 0;  // elements from the beginning of a row
      for (size_t i = 0; i < parts.size(); ++i) {
        const Tensor& part = parts[i];
        const int64_t columns = part.empty()
                                    ? skipped * layout.inner
                                    : RowLayout(part, spec_.format).channels * layout.inner;
        const Operand range = {static_cast<char*>(all.data) + size_t(offset) * SizeOf(spec_.dtype),
                               all.pitch};
        offset += columns;
        if (part.empty()) continue;
        const Operand own = OperandIn({layout.rows, columns}, part, spec_.format);
        RowMove move = make_move(range, own, i);
        if (!move.add && own.data == range.data && own.pitch == range.pitch) continue;
        move.dtype = spec_.dtype;
        move.columns = columns;
        run(move);
      }
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
  DTNN_RETURN_IF_ERROR(CheckFloating("concat", spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<ConcatCpu>(spec);
  return NoKernelFor("concat", context.device());
}

}  // namespace dtnn
#endif  // HWY_ONCE
