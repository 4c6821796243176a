// A SchedulerHost that writes down what schedulers do to it, and a run of epochs over it.

#ifndef DTNN_OPTIM_SCHEDULERS_TESTING_RECORDING_HOST_H_
#define DTNN_OPTIM_SCHEDULERS_TESTING_RECORDING_HOST_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn::testing {

class RecordingHost : public SchedulerHost {
 public:
  double learning_rate() const override { return rate; }
  void set_learning_rate(double value) override { rate = value; }
  void Stop() override { stopped = true; }
  void Say(std::string_view line) override { lines.emplace_back(line); }
  absl::Status KeepParameters() override {
    if (!failure.ok()) return failure;
    kept = epoch;
    return absl::OkStatus();
  }
  absl::Status RestoreParameters(int64_t of_epoch) override {
    if (of_epoch != kept) return absl::InvalidArgumentError("another epoch is kept");
    restored = kept;
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> SaveParameters(int64_t of_epoch) override {
    saved.push_back(kept);
    return "epoch-" + std::to_string(of_epoch) + ".npz";
  }

  // Ends the next epoch with this value of the metric that the scheduler watches.
  absl::Status EndEpoch(Scheduler& scheduler, double value) {
    ++epoch;
    EpochMetrics metrics = {.epoch = epoch};
    if (!scheduler.watched().empty()) metrics.values.emplace(scheduler.watched(), value);
    return scheduler.OnEpochEnd(metrics, *this);
  }

  double rate = 0.1;
  bool stopped = false;
  int64_t epoch = 0;
  int64_t kept = 0, restored = 0;  // of which epoch; 0: nothing
  std::vector<int64_t> saved;      // epochs that the saved sets are of
  std::vector<std::string> lines;
  absl::Status failure;
};

}  // namespace dtnn::testing

#endif  // DTNN_OPTIM_SCHEDULERS_TESTING_RECORDING_HOST_H_
