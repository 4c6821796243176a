#include <utility>

#include "kernels/conv/filter_copies/folded_filter.h"
#include "kernels/conv/gpu/filter_view.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gpu/runner.h"
#include "kernels/operands/operand.h"
#include "tensor/status_macros.h"

namespace dtnn {

// A thread per element of the stored filter.
template <typename T>
struct FoldFilterBody {
  using W = Wide<T>;
  conv::FilterView<const W> filter;
  const W* scale;
  conv::FilterView<T> folded;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(filter.data, n);
    accesses.Reads(scale, filter.filters);
    accesses.Writes(folded.data, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const conv::FilterCell at = filter.Cell(i);
    *folded.At(at.row, at.column, at.channel, at.filter) = T(filter.data[i] * scale[at.filter]);
  }
};

class FoldedFilterGpu : public FoldedFilter {
 public:
  FoldedFilterGpu(const GpuRunner& runner, const Conv2dSpec& spec, const Conv2dUse& use)
      : runner_(runner), spec_(spec), use_(use) {}

  absl::Status Run(const Tensor& filter, const Tensor& scale, const Tensor& folded) override {
    constexpr char kName[] = "folded filter";
    const DType wide = WideOf(spec_.dtype);
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the filter", filter, runner_.device(), wide,
                                      spec_.FilterShape(), Pitch::kNone));
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the scale", scale, runner_.device(), wide,
                                      Shape{spec_.filters}, Pitch::kNone));
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the result", folded, runner_.device(), spec_.dtype,
                                      use_.FilterShape(spec_), Pitch::kNone));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      return runner_.ForEach(
          kName, filter.num_elements(),
          FoldFilterBody<T>{conv::FilterView<const W>::Stored(filter, spec_), scale.data<W>(),
                            conv::FilterView<T>::Of(folded, spec_, use_)});
    });
  }

 private:
  GpuRunner runner_;
  Conv2dSpec spec_;
  Conv2dUse use_;
};

absl::StatusOr<std::unique_ptr<FoldedFilter>> CreateFoldedFilter(DeviceContext& context,
                                                                 const Conv2dSpec& spec,
                                                                 const Conv2dUse& use) {
  if (context.device().is_cpu()) return NoKernelFor("a folded filter", context.device());
  return std::make_unique<FoldedFilterGpu>(GpuRunner(context), spec, use);
}

}  // namespace dtnn
