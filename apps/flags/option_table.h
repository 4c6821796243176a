// The one table of the launcher's options (option_spec.h). The tools take rows from here too, where
// an option means the same (tool_flags.h).

#ifndef DTNN_APPS_FLAGS_OPTION_TABLE_H_
#define DTNN_APPS_FLAGS_OPTION_TABLE_H_

#include <span>
#include <string_view>

#include "apps/flags/option_spec.h"

namespace dtnn {

// The word of `--help=WORD`, and the heading above the group's options.
std::string_view Name(OptionGroup group);
std::string_view Title(OptionGroup group);
// What its options have no effect without, except those that say otherwise (OptionSpec::Always).
std::string_view NeedsOf(OptionGroup group);

std::span<const OptionSpec> OptionTable();
const OptionSpec* FindOption(std::string_view name);

std::span<const OptionAlias> AliasTable();
const OptionAlias* FindAlias(std::string_view old_name);

// Old names of words ("accuracy").
struct WordAlias {
  std::string_view old_word;
  std::string_view word;
};
std::span<const WordAlias> WordAliasTable();
// What other frameworks call a word: suggested, not accepted.
std::span<const OtherName> OtherWordTable();

std::span<const ComputedValue> ComputedValueTable();
std::span<const OtherName> OtherNameTable();

// Comma list of the losses.
std::string_view LossWords();

// Numbers that several programs take.
inline constexpr Range kCountFrom0 = {.low = 0, .high = 1e9};
inline constexpr Range kCountFrom1 = {.low = 1, .high = 1e9};

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_OPTION_TABLE_H_
