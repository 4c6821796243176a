// Every member of RunOptions, once: its path, its value, the numbers that it takes, and what it
// means for a run that resumes. A test counts them, so that a new member says all that too.

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTION_MEMBERS_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTION_MEMBERS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "models/checkpoint/run_identity.h"
#include "models/run/options/option_range.h"
#include "models/run/options/option_value.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Whether a run computes something else with another value, and what a checkpoint has of it.
struct Identity {
  enum class In : uint8_t {
    kNothing,    // it computes the same, or a run that resumes has done with it
    kElsewhere,  // network, data, optimizer, loader: compared as what they have become
    kChoices,    // RunIdentity::members, by `key`
  };
  In in = In::kNothing;
  std::string_view key = {};  // the name that the launcher gives it, which files have
  MayChange may_change = MayChange::kYes;
  OtherMetrics other_metrics = OtherMetrics::kNone;
  std::string_view of_scheduler = {};  // compared in runs with this one only
};

struct OptionMember {
  std::string_view path;  // "training.epochs"
  OptionValue (*load)(const RunOptions& options);
  Identity identity;
  OptionRange range = {};
};

std::span<const OptionMember> OptionMembers();

// A usage error where a number of `options` is outside of its range, or not finite.
absl::Status CheckRanges(const RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTION_MEMBERS_H_
