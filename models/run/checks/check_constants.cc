#include "models/run/checks/check_constants.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "comm/ranks/job/exit_code.h"
#include "models/run/options/in_force.h"
#include "models/run/options/option_members.h"
#include "models/run/options/option_value.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// As Optimizer::constants calls it.
std::string_view ConstantOf(std::string_view member) {
  if (member == "decay_all") return "decay of vectors";
  if (member == "tau_prime") return "tau'";
  if (member == "average_decay") return "average decay";
  return member;
}

double NumberOf(const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  if (const int64_t* number = std::get_if<int64_t>(&value)) return double(*number);
  return std::get<double>(value);
}

absl::Status Refuse(const OptionMember& member, const OptionValue& value, const auto&... why) {
  return UsageError("RunOptions::", member.path, "=", FormatValue(value), ": ", why...);
}

absl::Status CheckOfOptimizer(const OptionMember& member, const OptionValue& value,
                              const RunOptions& options, const Optimizer* own) {
  const std::string_view name = ConstantOf(member.path.substr(member.path.find('.') + 1));
  if (own != nullptr) {
    const auto constants = own->constants();
    const auto found = constants.find(name);
    if (found != constants.end() && NumberOf(value) == found->second) {
      return absl::OkStatus();
    }
    return Refuse(
        member, value,
        "cannot be used together with an optimizer object; give the object its constants");
  }
  const auto made = MakeOptimizer(options.optimizer.name);
  // Which parameters decay is a constant of those that decay, and all can keep an average.
  const std::string_view known = name == "decay of vectors" ? "decay" : name;
  if (!made.ok() || name == "average decay" || (*made)->constants().contains(known)) {
    return absl::OkStatus();
  }
  return Refuse(member, value, "optimizer ", options.optimizer.name,
                " has no such constant; leave it out, or choose an optimizer that has it");
}

absl::Status CheckOfScheduler(const OptionMember& member, const OptionValue& value,
                              const RunOptions& options, bool own_schedulers) {
  const std::string_view scheduler = member.identity.of_scheduler;
  if (scheduler.empty()) return absl::OkStatus();
  if (own_schedulers) {
    return Refuse(member, value,
                  "cannot be used together with scheduler objects; give the object its constants");
  }
  if (Schedules(options, scheduler)) return absl::OkStatus();
  return Refuse(member, value, "the run has no scheduler ", scheduler,
                "; add it to RunOptions::schedule.schedulers, or leave this out");
}

struct Refused {
  std::string_view path;
  absl::Status why;
};

std::vector<Refused> FindRefused(const RunOptions& options, const Optimizer* optimizer,
                                 bool own_schedulers) {
  RunOptions plain = options;
  plain.optimizer = {.name = options.optimizer.name,
                     .learning_rate = options.optimizer.learning_rate,
                     .find_learning_rate = options.optimizer.find_learning_rate,
                     .learning_rate_scaling = options.optimizer.learning_rate_scaling};
  plain.schedule = {.schedulers = options.schedule.schedulers,
                    .model_folder = options.schedule.model_folder};
  const RunOptions in_force = InForce(plain);
  std::vector<Refused> refused;
  for (const OptionMember& member : OptionMembers()) {
    const OptionValue value = member.load(options);
    if (value == member.load(plain) || value == member.load(in_force)) continue;
    absl::Status status;
    if (member.path.starts_with("optimizer.")) {
      status = CheckOfOptimizer(member, value, options, optimizer);
    } else {
      status = CheckOfScheduler(member, value, options, own_schedulers);
    }
    if (!status.ok()) refused.push_back({member.path, std::move(status)});
  }
  return refused;
}

}  // namespace

absl::Status CheckConstants(const RunOptions& options, const Optimizer* optimizer,
                            bool own_schedulers) {
  const std::vector<Refused> refused = FindRefused(options, optimizer, own_schedulers);
  return refused.empty() ? absl::OkStatus() : refused[0].why;
}

std::vector<std::string_view> OtherConstants(const RunOptions& options) {
  std::vector<std::string_view> paths;
  for (const Refused& refused : FindRefused(options, nullptr, false)) {
    paths.push_back(refused.path);
  }
  return paths;
}

}  // namespace dtnn
