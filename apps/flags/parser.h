// The launcher's command line (arguments.h) to Options: its table, and the rules that concern
// several options at once (validate.h).

#ifndef DTNN_APPS_FLAGS_PARSER_H_
#define DTNN_APPS_FLAGS_PARSER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/arguments.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"

namespace dtnn {

// What the user wants.
struct CommandLine {
  Action action = Action::kRun;
  std::string help_topic = {};             // of --help=TOPIC
  Options options = {};                    // of kRun
  std::vector<std::string> warnings = {};  // one line each, to be printed before the run
};

// What the launcher understands.
Syntax FlagSyntax();

// `arguments` without the program's name. The file that --options names was read before
// (apps/options_file).
absl::StatusOr<CommandLine> ParseFlags(std::span<const std::string> arguments);

// For names that only the caller knows (models): OK when `value` is one of `known`, else a usage
// error like `--model=vgg61: unknown model "vgg61"; did you mean "vgg16"? (--model=list shows all
// 52)`.
absl::Status CheckName(std::string_view flag, std::string_view value,
                       std::span<const std::string_view> known);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_PARSER_H_
