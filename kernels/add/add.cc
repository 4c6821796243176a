#include "kernels/add/add.h"

#include <algorithm>

#include "kernels/add/add_gpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/add/add.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_ADD_ADD_CC_
#define DTNN_KERNELS_ADD_ADD_CC_
namespace dtnn {

// Three operands are summed at once (two inputs, or one and the old y); more go through a sum on
// the stack, which also lets y be any of them.
struct AddPass {
  DType dtype;
  TensorFormat format;
  RowGrid grid;
  std::span<const Tensor> inputs;
  Operand y;
  bool accumulate;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_ADD_ADD_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void SumOfMany(const AddPass& pass, int64_t begin, int64_t end) {
  constexpr int64_t kChunk = 1024;
  HWY_ALIGN Wide<T> sums[kChunk];
  for (int64_t first = begin; first < end; first += kChunk) {
    const int64_t last = std::min(end, first + kChunk);
    // The chunk of the sum as a row of its own grid: element i is at sums[i - first].
    const auto add = [&](const Operand& x, bool initial) HWY_ATTR {
      for (int64_t i = first; i < last;) {
        const int64_t row = i / pass.grid.columns, column = i % pass.grid.columns;
        const int64_t count = std::min(pass.grid.columns - column, last - i);
        const T* from = x.At<const T>(row, column);
        Wide<T>* sum = sums + (i - first);
        initial ? Transform(Copied(), count, sum, from)
                : Transform(Sum(), count, sum, static_cast<const Wide<T>*>(sum), from);
        i += count;
      }
    };
    bool initial = true;
    for (const Tensor& x : pass.inputs) {
      add(OperandIn(pass.grid, x, pass.format), initial);
      initial = false;
    }
    if (pass.accumulate) add(pass.y, false);
    for (int64_t i = first; i < last;) {
      const int64_t row = i / pass.grid.columns, column = i % pass.grid.columns;
      const int64_t count = std::min(pass.grid.columns - column, last - i);
      Transform(Copied(), count, pass.y.At<T>(row, column),
                static_cast<const Wide<T>*>(sums + (i - first)));
      i += count;
    }
  }
}

template <typename T>
void AddTyped(const AddPass& pass, int64_t begin, int64_t end) {
  if (pass.inputs.size() > 2) return SumOfMany<T>(pass, begin, end);
  const Operand x0 = OperandIn(pass.grid, pass.inputs.front(), pass.format);
  const Operand x1 = OperandIn(pass.grid, pass.inputs.back(), pass.format);
  if (pass.inputs.size() == 2 && pass.accumulate) {
    TransformRange<T>(pass.grid, begin, end, Accumulated<Sum>(), pass.y, x0, x1, pass.y);
  } else if (pass.inputs.size() == 2) {
    TransformRange<T>(pass.grid, begin, end, Sum(), pass.y, x0, x1);
  } else if (pass.accumulate) {
    TransformRange<T>(pass.grid, begin, end, Sum(), pass.y, x0, pass.y);
  } else {
    TransformRange<T>(pass.grid, begin, end, Copied(), pass.y, x0);
  }
}

void AddRange(const AddPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { AddTyped<decltype(zero)>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(AddRange);

class AddCpu : public Add {
 public:
  explicit AddCpu(const AddSpec& spec) : spec_(spec) {}

  absl::Status Run(std::span<const Tensor> inputs, const Tensor& y, bool accumulate) override {
    if (inputs.empty()) return absl::InvalidArgumentError("add: no inputs, expected at least one");
    RowGrid grid = GridOf(spec_.format, {&y});
    for (const Tensor& x : inputs) {
      DTNN_RETURN_IF_ERROR(CheckOperands("add", Device::Cpu(), spec_.dtype, {&y, &x}));
      if (!x.dense()) grid = GridOf(spec_.format, {&x});
    }
    const AddPass pass = {.dtype = spec_.dtype,
                          .format = spec_.format,
                          .grid = grid,
                          .inputs = inputs,
                          .y = OperandIn(grid, y, spec_.format),
                          .accumulate = accumulate};
    const Operand x = OperandIn(grid, inputs[0], spec_.format);
    const bool same = x.data == pass.y.data && x.pitch == pass.y.pitch;
    if (inputs.size() == 1 && same && !accumulate) return absl::OkStatus();
    ParallelFor(0, grid.size(), kCopyGrain, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(AddRange)(pass, begin, end);
    });
    return absl::OkStatus();
  }

 private:
  AddSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Add>> CreateAdd(DeviceContext& context, const AddSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("add", context.device(), spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<AddCpu>(spec);
  return CreateAddGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
