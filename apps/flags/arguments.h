// The command line of every program: text to values of the options that it has, each checked,
// nothing guessed.
//
//   --name=value, --name value     dashes and underscores in names are the same
//   --flag, --noflag               booleans; `--flag no` too, when the next argument is such a word
//   -h, --help, --help=WORD        and `list` for options that can list their values
//   --                             the arguments after it are not options
//
// The last of several equal spellings wins; an old spelling that contradicts a new one is an error,
// as are unknown names, abbreviations, wrong values, options that this build does not have yet (but
// for their documented defaults), and arguments that are not options where the program takes none.
// Errors are usage errors (exit code 2) whose one line names the flag, the value, and what is
// allowed.

#ifndef DTNN_APPS_FLAGS_ARGUMENTS_H_
#define DTNN_APPS_FLAGS_ARGUMENTS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/value.h"

namespace dtnn {

// What a program understands.
struct Syntax {
  std::span<const OptionSpec> options;
  std::span<const OptionAlias> aliases = {};
  std::span<const ComputedValue> computed = {};
  std::span<const OtherName> others = {};
  bool takes_others = false;  // such as files to work on
};

struct Setting {
  const OptionSpec* spec;
  Value value;
};

struct Arguments {
  Action action = Action::kRun;
  std::string help_topic;           // of --help=WORD: a topic, an option or all
  std::vector<Setting> settings;    // of kRun, as are the others; in the order of first mention
  std::vector<std::string> others;  // arguments that are not options
};

// `arguments` without the program's name.
absl::StatusOr<Arguments> ParseArguments(std::span<const std::string> arguments,
                                         const Syntax& syntax);

// What the last of `--name=value` and `--name value` says, for the few options that are looked at
// before the command line is checked.
std::optional<std::string> LastValueOf(std::string_view name,
                                       std::span<const std::string> arguments);

// The option that `name` is a spelling of, an earlier one or --noflag too; underscores mean dashes.
// Null for other names.
const OptionSpec* FindSpelling(std::string_view name, const Syntax& syntax);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_ARGUMENTS_H_
