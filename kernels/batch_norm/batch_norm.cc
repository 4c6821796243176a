#include "kernels/batch_norm/batch_norm.h"

#include "absl/strings/str_cat.h"
#include "kernels/batch_norm/batch_norm_cpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

absl::Status Validate(const BatchNormSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("batch normalisation", spec.dtype));
  if (spec.batch < 0 || spec.positions < 1 || spec.channels < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch normalisation: ", spec.batch, " samples of ", spec.positions,
                     " positions and ", spec.channels, " channels, expected at least one of each"));
  }
  if (!(spec.epsilon > 0) || !(spec.momentum >= 0 && spec.momentum <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch normalisation: epsilon ", spec.epsilon, " and momentum ", spec.momentum,
                     ", expected a positive epsilon and a momentum in [0, 1]"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNorm>> CreateBatchNorm(DeviceContext& context,
                                                           const BatchNormSpec& spec) {
  DTNN_RETURN_IF_ERROR(Validate(spec));
  if (context.device().is_cpu()) return CreateBatchNormCpu(spec);
  return NoKernelFor("batch normalisation", context.device());
}

}  // namespace dtnn
