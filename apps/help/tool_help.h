// What --help prints, of all programs: the text of the program and its options; with a topic all
// about an option, or what a shell or man needs to know of the program:
//
//   predict --help=batch-size     source <(predict --help=bash)     predict --help=man >predict.1

#ifndef DTNN_APPS_HELP_TOOL_HELP_H_
#define DTNN_APPS_HELP_TOOL_HELP_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/flags/option_spec.h"
#include "apps/help/program_text.h"

namespace dtnn {

// `topic`: as ParseToolFlags has understood it (apps/flags/tool_flags.h).
std::string ToolHelp(const ProgramText& program, std::span<const OptionSection> sections,
                     std::string_view topic = {});
// Options without titles.
std::string ToolHelp(const ProgramText& program, std::span<const OptionSpec> options,
                     std::string_view topic = {});

// The program's text, in which usage and examples call it as the user does.
std::string TextOf(const ProgramText& program, bool examples = true);

// What --help=bash, --help=man or --help=zsh prints; nothing for other topics. `topics`: what
// --help=TOPIC takes besides options.
std::optional<std::string> ShellHelp(const ProgramText& program,
                                     std::span<const OptionSection> sections,
                                     std::span<const std::string_view> topics,
                                     std::string_view topic);

}  // namespace dtnn

#endif  // DTNN_APPS_HELP_TOOL_HELP_H_
