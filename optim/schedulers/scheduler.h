// What changes while training runs: learning rates, when to stop, which parameters to keep. A
// Scheduler is a small state machine that knows no trainer: it scales the learning rate of every
// step (Factor) and acts after every epoch through its SchedulerHost. It sees metrics summed over
// all ranks and draws no random numbers, so all ranks decide alike.
//
// The learning rate of a step is the host's rate times the factors of all schedulers: a warm-up
// thus never undoes what others reduced meanwhile. Only reductions change the host's rate.
//
// One per file in optim/schedulers/.

#ifndef DTNN_OPTIM_SCHEDULERS_SCHEDULER_H_
#define DTNN_OPTIM_SCHEDULERS_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

struct ScheduleStep {
  int64_t step = 0;  // from 0, over the whole run
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;  // of the whole run
};

// What an epoch came to, over all ranks.
struct EpochMetrics {
  int64_t epoch = 0;  // finished epochs, from 1
  // By name: those of the loss and the metrics for the training split, with "val_" before them for
  // the validation split.
  std::map<std::string, double, std::less<>> values = {};

  std::optional<double> Find(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
};

// What schedulers may do to a run. All ranks call the same in the same order.
class SchedulerHost {
 public:
  virtual ~SchedulerHost() = default;
  // Before the factors.
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double rate) = 0;
  // Training ends with this epoch.
  virtual void Stop() = 0;
  // A line for the user, without its end; printed once, not by every rank.
  virtual void Say(std::string_view line) = 0;

  // Parameters with their running statistics, one set for each scheduler. A set belongs to the
  // state of a run: a scheduler that is resumed needs the set that it kept.
  // Keeps the current parameters, in place of the set before.
  virtual absl::Status KeepParameters() = 0;
  // Makes the kept set, which is that of `epoch`, the current parameters as soon as all schedulers
  // have seen the epoch, since others still look at what it came to. Of several that ask, the first
  // gets its own.
  virtual absl::Status RestoreParameters(int64_t epoch) = 0;
  // Writes the kept set, which is that of `epoch`, to a file, then deletes the one that the
  // scheduler had written before. Returns the file's name.
  virtual absl::StatusOr<std::string> SaveParameters(int64_t epoch) = 0;
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual std::string_view name() const = 0;  // as --schedulers spells it
  // The metric that it needs after every epoch, or empty: a program refuses one that the run does
  // not compute before training starts.
  virtual std::string_view watched() const { return ""; }

  // What the learning rate of that step is multiplied by.
  virtual double Factor(const ScheduleStep& /*step*/) const { return 1; }
  // After training and validation of an epoch. NotFound where the watched metric is missing.
  virtual absl::Status OnEpochEnd(const EpochMetrics& /*metrics*/, SchedulerHost& /*host*/) {
    return absl::OkStatus();
  }

  // After the last epoch's OnEpochEnd of all schedulers: what still has to be done, is.
  virtual absl::Status OnTrainEnd(SchedulerHost& /*host*/) { return absl::OkStatus(); }

  // After a run that reached its last epoch, `epochs`, and was not stopped. Checkpoints are written
  // by then, so that a run with more epochs continues with what the last one came to. Only to
  // restore parameters.
  virtual absl::Status OnRunEnd(int64_t /*epochs*/, SchedulerHost& /*host*/) {
    return absl::OkStatus();
  }

  // All that it remembers from epoch to epoch, for checkpoints: after Restore it continues bit for
  // bit. InvalidArgument for a state of another length than its own.
  virtual std::vector<double> State() const { return {}; }
  virtual absl::Status Restore(std::span<const double> state);
};

// The pieces that schedulers share.

// InvalidArgument, naming the scheduler, unless the state has `expected` values.
absl::Status CheckState(const Scheduler& scheduler, std::span<const double> state, size_t expected);
// A value of the state that is a number of epochs; InvalidArgument where it can be none.
absl::StatusOr<int64_t> EpochsInState(const Scheduler& scheduler, double value);
// The metric that the scheduler watches; NotFound, naming both, when the epoch has none.
absl::StatusOr<double> WatchedValue(const Scheduler& scheduler, const EpochMetrics& metrics);

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_SCHEDULER_H_
