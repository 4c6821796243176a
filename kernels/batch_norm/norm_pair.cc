#include "kernels/batch_norm/norm_pair.h"

#include "kernels/batch_norm/check.h"
#include "kernels/batch_norm/norm_pair_gpu.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<NormPair>> CreateNormPair(DeviceContext& context,
                                                         const NormPairSpec& spec) {
  for (const BatchNormSpec& each : spec) {
    DTNN_RETURN_IF_ERROR(CheckFloating("batch normalisation", context.device(), each.dtype));
    DTNN_RETURN_IF_ERROR(ValidateBatchNorm(each));
    BatchNormSpec alike = each;
    alike.epsilon = spec[0].epsilon;
    alike.momentum = spec[0].momentum;
    if (!each.add || alike != spec[0]) {
      return absl::InvalidArgumentError(
          "two normalisations at once: expected specs that add, and that differ in epsilon and "
          "momentum alone");
    }
  }
  if (context.device().is_cpu()) {
    return absl::UnimplementedError(
        "two normalisations at once: not on a CPU; use a BatchNorm for each");
  }
  return CreateNormPairGpu(context, spec);
}

}  // namespace dtnn
