#include "optim/schedulers/stop_at_loss.h"

#include "absl/strings/str_format.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::Status StopAtLoss::OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) {
  DTNN_ASSIGN_OR_RETURN(const double value, WatchedValue(*this, metrics));
  if (!IsBetter(options_.better, value, options_.threshold)) return absl::OkStatus();
  host.Say(absl::StrFormat(
      "LRScheduler StopAtLoss: metric %s reached threshold value %f, stop training!",
      options_.metric, options_.threshold));
  host.Stop();
  return absl::OkStatus();
}

}  // namespace dtnn
