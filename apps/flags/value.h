// Values of options: text to typed value, checked against the table, and back to the one text that
// help, messages and parameter list show. Also where a value is stored in Options.
//
// None (std::monostate) means "not set"; only options whose default is None take it, written "None"
// in any case or, for text and words, left empty.

#ifndef DTNN_APPS_FLAGS_VALUE_H_
#define DTNN_APPS_FLAGS_VALUE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"
#include "models/run/options/option_text.h"   // IWYU pragma: export
#include "models/run/options/option_value.h"  // IWYU pragma: export

namespace dtnn {

using Value = OptionValue;

// true: true, 1, yes, y, t, on; false: false, 0, no, n, f, off; any case. Nothing else.
std::optional<bool> ParseBool(std::string_view text);

// Errors (usage errors) say what is wrong and what is allowed, but not which flag it was.
absl::StatusOr<Value> ParseValue(const OptionSpec& spec, std::string_view text);

// What `spec` takes, in words: "a whole number >= 1".
std::string DescribeAllowed(const OptionSpec& spec);

// The default in FormatValue's form: as it is in force for an option of a run that is not set.
std::string DefaultText(const OptionSpec& spec);

bool IsDefault(const OptionSpec& spec, const Value& value);

// All members as they are in force (models/run/options/in_force.h).
Options OptionsInForce(Options options);

// Reads and writes the member or the variable that `spec` is bound to; `options` may be null for
// variables. `value` must come from ParseValue for the same spec.
Value Load(const Options* options, const OptionSpec& spec);
void Store(const Value& value, const OptionSpec& spec, Options* options);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_VALUE_H_
