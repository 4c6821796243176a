#include "apps/flags/tool_flags.h"

#include <algorithm>
#include <utility>

#include "apps/flags/arguments.h"
#include "apps/flags/help.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "tensor/status_macros.h"

namespace dtnn {

OptionSpec LikeLauncher(std::string_view name, OptionField field, std::string_view help) {
  OptionSpec spec = *FindOption(name);
  spec.field = field;
  spec.needs = {};
  spec.needs_of_group = false;
  spec.by_default = {};
  spec.follows = help.empty();
  if (!help.empty()) spec.help = help;
  return spec;
}

absl::StatusOr<ToolRequest> ParseToolFlags(std::span<const std::string> arguments,
                                           std::span<const OptionSpec> flags,
                                           std::vector<std::string>* others) {
  const Syntax syntax = {.options = flags, .takes_others = others != nullptr};
  DTNN_ASSIGN_OR_RETURN(Arguments parsed, ParseArguments(arguments, syntax));
  ToolRequest request = {.action = parsed.action, .help_topic = {}};
  if (std::ranges::count(kShellTopics, parsed.help_topic) > 0) {
    request.help_topic = parsed.help_topic;
  } else if (!parsed.help_topic.empty() && parsed.help_topic != "all") {
    DTNN_ASSIGN_OR_RETURN(const OptionSpec* option, FindHelp(parsed.help_topic, syntax));
    request.help_topic = std::string(option->name);
  }
  if (parsed.action != Action::kRun) return request;
  for (const Setting& setting : parsed.settings) Store(setting.value, *setting.spec, nullptr);
  if (others != nullptr) *others = std::move(parsed.others);
  return request;
}

}  // namespace dtnn
