#include "kernels/softmax/softmax.h"

#include "absl/strings/str_cat.h"
#include "kernels/elementwise/operands.h"
#include "kernels/softmax/softmax_cpu.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/softmax/softmax_cuda.h"
#endif

namespace dtnn {
namespace {

absl::Status Validate(const SoftmaxSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("softmax", spec.dtype));
  if (!(spec.label_smoothing >= 0 && spec.label_smoothing < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("softmax cross entropy: label smoothing is ",
                                                   spec.label_smoothing, ", expected 0 <= s < 1"));
  }
  if (spec.rows >= 0 && spec.columns >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("softmax: ", spec.rows, " rows of ", spec.columns,
                                                 " columns, expected at least one column"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Softmax>> CreateSoftmax(DeviceContext& context,
                                                       const SoftmaxSpec& spec) {
  DTNN_RETURN_IF_ERROR(Validate(spec));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateSoftmaxCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateSoftmaxCuda(context, spec);
#endif
    default:
      return NoKernelFor("softmax", context.device());
  }
}

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropy>> CreateSoftmaxCrossEntropy(
    DeviceContext& context, const SoftmaxSpec& spec) {
  DTNN_RETURN_IF_ERROR(Validate(spec));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateSoftmaxCrossEntropyCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateSoftmaxCrossEntropyCuda(context, spec);
#endif
    default:
      return NoKernelFor("softmax cross entropy", context.device());
  }
}

}  // namespace dtnn
