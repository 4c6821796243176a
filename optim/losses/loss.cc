#include "optim/losses/loss.h"

#include "kernels/device_traits.h"
#include "tensor/errors.h"

namespace dtnn {

absl::Status CheckOnCpu(const Loss& loss, const LossContext& context) {
  const Device device = context.device->device();
  if (TraitsOf(device).in_host_memory) return absl::OkStatus();
  return Unimplemented("the loss ", loss.name(), " is not available on ", device.ToString(),
                       " for this network: run it on the CPU");
}

}  // namespace dtnn
