#include "optim/losses/loss.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace dtnn {

absl::Status CheckOnCpu(const Loss& loss, const LossContext& context) {
  if (context.device->device().is_cpu()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("the loss ", std::string(loss.name()), " is not available on ",
                   context.device->device().ToString(), " for this network: run it on the CPU"));
}

}  // namespace dtnn
