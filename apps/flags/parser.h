// The command line of the programs: text to Options, every value checked, nothing guessed.
//
//   --name=value, --name value     dashes and underscores in names are the same
//   --flag, --noflag               booleans; `--flag no` too, when the next argument is such a word
//
// The last of several equal spellings wins; an old spelling (option_table.h) that contradicts a new
// one is an error, as are unknown names, abbreviations, arguments that are no options, wrong
// values, and options that this build does not have yet. Errors are usage errors (exit code 2)
// whose one line names the flag, the value, and what is allowed.

#ifndef DTNN_APPS_FLAGS_PARSER_H_
#define DTNN_APPS_FLAGS_PARSER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/options.h"

namespace dtnn {

// What the user wants. All but kRun are answered without looking at the rest of the command line.
enum class Action { kRun, kHelp, kListModels, kListDatasets };

struct CommandLine {
  Action action = Action::kRun;
  std::string help_topic;             // of --help=TOPIC
  Options options;                    // of kRun
  std::vector<std::string> warnings;  // one line each, to be printed before the run
};

// `arguments` without the program's name.
absl::StatusOr<CommandLine> ParseFlags(std::span<const std::string> arguments);
absl::StatusOr<CommandLine> ParseFlags(int argc, char* const* argv);

// For names that only the caller knows (models): OK when `value` is one of `known`, else a usage
// error like `--model=vgg61: unknown model "vgg61"; did you mean "vgg16"? (--model=list shows all
// 52)`.
absl::Status CheckName(std::string_view flag, std::string_view value,
                       std::span<const std::string_view> known);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_PARSER_H_
