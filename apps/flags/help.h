// The text of --help. Alone it is one page: what the program is, the main options, where to read
// on. --help=all lists all options, those that work first; --help=TOPIC those of one group;
// --help=OPTION tells everything about one. At most 100 columns wide.

#ifndef DTNN_APPS_FLAGS_HELP_H_
#define DTNN_APPS_FLAGS_HELP_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/flags/arguments.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

// What stands after an option's name: "=SECONDS", "=adam|sgd". `shortened`: without the words that
// it takes: "=NAME".
std::string ValuePlaceholder(const OptionSpec& spec, bool shortened);

// The help line of `spec`, and its words after those that announce them; without both.
std::string HelpWithList(const OptionSpec& spec);
std::string_view HelpWithoutList(const OptionSpec& spec);

// A line per option, or more: name, what it takes, what it means, default.
std::string DescribeOptions(std::span<const OptionSpec> options);

// Everything about one option of `syntax`: what each word means, range, default, what it
// needs, what needs it, earlier spellings, an example.
std::string DescribeOption(const OptionSpec& option, const Syntax& syntax);

// The option that --help=`word` asks for. Usage errors for other words: they name those that are
// like it, of the options and of `topics`.
absl::StatusOr<const OptionSpec*> FindHelp(std::string_view word, const Syntax& syntax,
                                           std::span<const std::string_view> topics = {});

// The launcher's help. `about`: what the page says before its options. `topic`: empty for the page,
// "all", the Name of an OptionGroup, or an option; where an option is called like its group, both.
// Other words are usage errors.
absl::StatusOr<std::string> HelpText(std::string_view about, std::string_view topic);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_HELP_H_
