#include "optim/schedulers/stop_at_loss.h"

#include "absl/strings/str_format.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::Status StopAtLoss::OnEpochEnd(const EpochFigures& figures, SchedulerHost& host) {
  DTNN_ASSIGN_OR_RETURN(const double value, WatchedValue(*this, figures));
  const bool reached =
      LargerIsBetter(options_.metric) ? value > options_.threshold : value < options_.threshold;
  if (!reached) return absl::OkStatus();
  host.Say(absl::StrFormat(
      "LRScheduler StopAtLoss: metric %s reached threshold value %f, stop training!",
      options_.metric, options_.threshold));
  host.Stop();
  return absl::OkStatus();
}

}  // namespace dtnn
