// All schedulers by the names that --schedulers knows.

#ifndef DTNN_OPTIM_SCHEDULERS_SCHEDULERS_H_
#define DTNN_OPTIM_SCHEDULERS_SCHEDULERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "optim/losses/better.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn {

// The constants of all of them. What is not set keeps the scheduler's own default; what a scheduler
// does not have is ignored.
struct SchedulerConstants {
  std::optional<std::string> metric = {};  // that it watches
  std::optional<Better> better = {};       // of that metric
  std::optional<int64_t> patience = {}, nepochs = {}, save_freq = {}, batches = {}, epochs = {},
                         restart_epochs = {}, restart_growth = {};
  std::optional<double> factor = {}, min_lr = {}, threshold = {}, floor = {}, power = {},
                        min_delta = {};
};

// In the order in which they are documented.
std::vector<std::string_view> SchedulerNames();
// A new one, since schedulers have a state. NotFound, listing the names, for another name.
absl::StatusOr<std::shared_ptr<Scheduler>> MakeScheduler(std::string_view name,
                                                         const SchedulerConstants& constants = {});

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_SCHEDULERS_H_
