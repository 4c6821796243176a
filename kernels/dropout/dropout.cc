#include "kernels/dropout/dropout.h"

#include "absl/strings/str_cat.h"
#include "kernels/dropout/dropout_cpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/dropout/dropout_cuda.h"
#endif

namespace dtnn {

absl::StatusOr<std::unique_ptr<Dropout>> CreateDropout(DeviceContext& context,
                                                       const DropoutSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("dropout", spec.dtype));
  if (!(spec.rate >= 0 && spec.rate <= 1)) {  // also a NaN
    return absl::InvalidArgumentError(
        absl::StrCat("dropout: rate is ", spec.rate, ", expected 0 to 1"));
  }
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateDropoutCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateDropoutCuda(context, spec);
#endif
    default:
      return NoKernelFor("dropout", context.device());
  }
}

}  // namespace dtnn
