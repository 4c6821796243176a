#include "optim/losses/loss.h"

#include "tensor/errors.h"

namespace dtnn {

absl::Status CheckOnCpu(const Loss& loss, const LossContext& context) {
  if (context.device->device().is_cpu()) return absl::OkStatus();
  return Unimplemented("the loss ", loss.name(), " is not available on ",
                       context.device->device().ToString(), " for this network: run it on the CPU");
}

}  // namespace dtnn
