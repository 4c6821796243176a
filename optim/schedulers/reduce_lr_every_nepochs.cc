#include "optim/schedulers/reduce_lr_every_nepochs.h"

#include "absl/strings/str_format.h"
#include "optim/schedulers/reduce_lr.h"

namespace dtnn {

absl::Status ReduceLrEveryNepochs::OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) {
  if (metrics.epoch % options_.nepochs != 0) return absl::OkStatus();
  if (!ReduceLearningRate(host, options_.factor, options_.min_lr)) return absl::OkStatus();
  host.Say(absl::StrFormat("LRScheduler ReduceLREveryNEpochs: setting learning rate to %.8f",
                           host.learning_rate()));
  return absl::OkStatus();
}

}  // namespace dtnn
