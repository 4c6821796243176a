#include "kernels/update/update.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/elementwise/operands.h"
#include "kernels/update/update_cpu.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/update/update_cuda.h"
#endif

namespace dtnn {

namespace {

absl::Status CheckConstants(const UpdateSpec& spec) {
  for (const auto& [name, value] :
       {std::pair("momentum", spec.momentum), std::pair("rho", spec.rho),
        std::pair("beta1", spec.beta1), std::pair("beta2", spec.beta2)}) {
    if (!(value >= 0 && value < 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("update: ", name, " is ", value, ", expected 0 <= ", name, " < 1"));
    }
  }
  for (const auto& [name, value] :
       {std::pair("epsilon", spec.epsilon), std::pair("decay", spec.decay)}) {
    if (!(value >= 0 && std::isfinite(value))) {
      return absl::InvalidArgumentError(
          absl::StrCat("update: ", name, " is ", value, ", expected a number of at least 0"));
    }
  }
  int64_t end = 0;
  for (const ArenaRange& range : spec.without_decay) {
    if (range.begin < end || range.end < range.begin) {
      return absl::InvalidArgumentError(
          absl::StrCat("update: range ", range.begin, " to ", range.end,
                       " without decay does not begin after the one before, which ends at ", end));
    }
    end = range.end;
  }
  return absl::OkStatus();
}

}  // namespace

int UpdateSpec::slots() const {
  switch (rule) {
    case UpdateRule::kSgd:
      return momentum != 0 ? 1 : 0;
    case UpdateRule::kRmsprop:
      return 1;
    case UpdateRule::kAdam:
    case UpdateRule::kNadam:
    case UpdateRule::kAdamw:
      return 2;
  }
  return 0;
}

absl::StatusOr<std::unique_ptr<Update>> CreateUpdate(DeviceContext& context,
                                                     const UpdateSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("update", spec.dtype));
  DTNN_RETURN_IF_ERROR(CheckConstants(spec));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateUpdateCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateUpdateCuda(context, spec);
#endif
    default:
      return NoKernelFor("update", context.device());
  }
}

}  // namespace dtnn
