// The text of --help: the options by topic, those that work first, at most 100 columns wide.

#ifndef DTNN_APPS_FLAGS_HELP_H_
#define DTNN_APPS_FLAGS_HELP_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

// A line per option, or more: name, what it takes, what it means, default.
std::string DescribeOptions(std::span<const OptionSpec> options);

// `topic`: empty for everything, or the Name of one OptionGroup. Other topics are usage errors.
absl::StatusOr<std::string> HelpText(std::string_view program, std::string_view topic);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_HELP_H_
