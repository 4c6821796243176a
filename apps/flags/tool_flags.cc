#include "apps/flags/tool_flags.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/flags/arguments.h"
#include "apps/flags/help.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/job/exit_code.h"
#include "tensor/status_macros.h"

namespace dtnn {

OptionSpec LikeLauncher(std::string_view name, OptionField field, std::string_view help) {
  OptionSpec spec = *FindOption(name);
  spec.field = field;
  if (!help.empty()) spec.help = help;
  return spec;
}

absl::StatusOr<Action> ParseToolFlags(std::span<const std::string> arguments,
                                      std::span<const OptionSpec> flags,
                                      std::vector<std::string>* others) {
  DTNN_ASSIGN_OR_RETURN(
      Arguments parsed,
      ParseArguments(arguments, {.options = flags, .takes_others = others != nullptr}));
  if (!parsed.help_topic.empty()) {
    return UsageError(
        absl::StrCat("--help=", OneLine(parsed.help_topic, 80), ": has no topics; write --help"));
  }
  if (parsed.action != Action::kRun) return parsed.action;
  for (const Setting& setting : parsed.settings) Store(setting.value, *setting.spec, nullptr);
  if (others != nullptr) *others = std::move(parsed.others);
  return Action::kRun;
}

std::string ToolHelp(std::string_view summary, std::span<const OptionSpec> flags) {
  return absl::StrCat(std::string(summary), "\n\n", DescribeOptions(flags));
}

}  // namespace dtnn
