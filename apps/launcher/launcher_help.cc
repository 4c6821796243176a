#include "apps/launcher/launcher_help.h"

#include <optional>
#include <vector>

#include "apps/flags/help.h"
#include "apps/flags/option_table.h"
#include "apps/help/tool_help.h"

namespace dtnn {

absl::StatusOr<std::string> LauncherHelp(std::string_view topic) {
  std::vector<OptionSection> groups;
  std::vector<std::string_view> topics = {"all"};
  for (int g = 0; g < kOptionGroups; ++g) {
    topics.push_back(Name(OptionGroup(g)));
    groups.push_back({.title = Title(OptionGroup(g)), .options = {}});
  }
  for (const OptionSpec& spec : OptionTable()) {
    groups[size_t(spec.group)].options.push_back(spec);
  }
  std::optional<std::string> text = ShellHelp(kLauncher, groups, topics, topic);
  if (text) return *std::move(text);
  return HelpText(TextOf(kLauncher, /*examples=*/false), topic);
}

}  // namespace dtnn
