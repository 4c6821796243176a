#include "optim/schedulers/scheduler.h"

#include <cmath>

#include "tensor/errors.h"

namespace dtnn {

absl::Status Scheduler::Restore(std::span<const double> state) {
  return CheckState(*this, state, 0);
}

absl::Status CheckState(const Scheduler& scheduler, std::span<const double> state,
                        size_t expected) {
  if (state.size() == expected) return absl::OkStatus();
  return InvalidArgument("scheduler ", scheduler.name(), ": its saved state has ", state.size(),
                         " values, expected ", expected, "; was it written by another version?");
}

absl::StatusOr<int64_t> EpochsInState(const Scheduler& scheduler, double value) {
  if (value >= 0 && value < 0x1p53 && value == std::floor(value)) return int64_t(value);
  return InvalidArgument("scheduler ", scheduler.name(), ": its saved state has ", value,
                         " where a number of epochs was expected; is the file damaged?");
}

absl::StatusOr<double> WatchedValue(const Scheduler& scheduler, const EpochMetrics& metrics) {
  if (const std::optional<double> value = metrics.Find(scheduler.watched())) return *value;
  std::string known;
  for (const auto& [name, value] : metrics.values) StrAppend(&known, " ", name);
  return NotFound("scheduler ", scheduler.name(), " watches \"", scheduler.watched(),
                  "\", which is not computed in this run; available:", known);
}

}  // namespace dtnn
