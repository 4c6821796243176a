#include "kernels/bias/bias.h"

#include "absl/strings/str_cat.h"
#include "kernels/bias/bias_cpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/bias/bias_cuda.h"
#endif

namespace dtnn {

absl::StatusOr<std::unique_ptr<Bias>> CreateBias(DeviceContext& context, const BiasSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("bias", spec.dtype));
  if (spec.channels < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("bias: ", spec.channels, " channels, expected at least 1"));
  }
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateBiasCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateBiasCuda(context, spec);
#endif
    default:
      return NoKernelFor("bias", context.device());
  }
}

}  // namespace dtnn
