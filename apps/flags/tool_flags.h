// The options of a small tool, each bound to a variable that holds its default; read, checked and
// answered as the launcher's are (arguments.h).
//
//   const OptionSpec flags[] = {
//       LikeLauncher("dataset", &options.data.name),
//       {.name = "top", .type = OptionType::kInt, .help = "how many", .range = kCountFrom1,
//        .field = &options.top}};
//   DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags, &files));
//   if (request.action == Action::kHelp) std::cout << ToolHelp(kProgramText, flags,
//   request.help_topic);
//
// ToolHelp is in apps/help/tool_help.h.

#ifndef DTNN_APPS_FLAGS_TOOL_FLAGS_H_
#define DTNN_APPS_FLAGS_TOOL_FLAGS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

// The launcher's option of that name, which takes the same values, bound to a variable; with a help
// of its own unless that is empty. What it needs in the launcher it does not need here.
OptionSpec LikeLauncher(std::string_view name, OptionField field, std::string_view help = {});

// --help=bash and so on: what shells and man need to know of a program.
inline constexpr std::string_view kShellTopics[] = {"bash", "man", "zsh"};

// What was asked for.
struct ToolRequest {
  Action action = Action::kRun;
  std::string help_topic;  // of kHelp: an option, one of kShellTopics, or empty for all options
};

// The variables are set where a run was asked for. `arguments` without the program's name.
// Arguments that are not options, such as files to work on, go to `others`; null: a usage error.
absl::StatusOr<ToolRequest> ParseToolFlags(std::span<const std::string> arguments,
                                           std::span<const OptionSpec> flags,
                                           std::vector<std::string>* others = nullptr);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_TOOL_FLAGS_H_
