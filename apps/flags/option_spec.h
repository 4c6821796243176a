// What is known of one option of a program: what it is called, what it takes, what it means, and
// where its value goes. Parsers, help, parameter list and tests all read it; a new option is one
// row of a table of these.
//
// An option is bound to a member of Options (the launcher's, option_table.h) or to a variable (a
// small tool's, tool_flags.h), and its default is what stands there. One that is bound to nothing
// only describes values.

#ifndef DTNN_APPS_FLAGS_OPTION_SPEC_H_
#define DTNN_APPS_FLAGS_OPTION_SPEC_H_

#include <cstdint>
#include <string_view>

#include "apps/flags/options.h"
#include "models/run/options/option_range.h"
#include "models/run/options/option_value.h"

namespace dtnn {

enum class OptionGroup : uint8_t {
  kModel,
  kSynchronisation,
  kDataset,
  kOptimisation,
  kConvolution,
  kOptimizer,
  kSchedulers,
  kParallel,
  kEncryption,
  kTracing,
  kOther,
};
inline constexpr int kOptionGroups = 11;

enum class OptionType : uint8_t {
  kBool,    // --flag, --noflag, --flag=yes
  kInt,     // 64-bit whole number in `range`
  kReal,    // finite number in `range`
  kText,    // anything: names
  kPath,    // of a file or folder: anything but nothing
  kWord,    // one of `words`, any case; those that begin with False,True make it a switch too
  kWords,   // comma list of `words`, any case
  kInts,    // comma list of whole numbers in `range`, at least one
  kReals,   // comma list of finite numbers in `range`, at least one
  kMetric,  // one of `words`, perhaps after "val_"
};

using Range = OptionRange;

// What a command line asks a program for. All but kRun are answered without looking at the rest of
// the command line.
enum class Action : uint8_t {
  kRun,
  kHelp,
  kListModels,
  kListDatasets,
  kListTransforms,
  kListDirectMethods,
};

// The member of Options, or the variable, that an option sets: nothing where `load` is null.
struct OptionField {
  constexpr OptionField() = default;
  template <class T>
  constexpr OptionField(T* variable)  // NOLINT: a variable is a field
      : variable(variable),
        load([](const Options*, const void* variable) {
          return ToValue(*static_cast<const T*>(variable));
        }),
        store([](const OptionValue& value, Options*, void* variable) {
          Assign(value, *static_cast<T*>(variable));
        }) {}

  void* variable = nullptr;  // null: of a member
  OptionValue (*load)(const Options* options, const void* variable) = nullptr;
  void (*store)(const OptionValue& value, Options* options, void* variable) = nullptr;
};

struct OptionSpec {
  std::string_view name = {};  // with dashes
  OptionGroup group = {};      // of the launcher's
  OptionType type = {};
  std::string_view help = {};  // one line; after a colon at its end --help lists the words
  std::string_view unit = {};  // of numbers: "seconds", which --help shows as --name=SECONDS
  Range range = {};
  std::string_view words = {};  // comma list
  OptionField field = {};
  std::string_view path = {};        // of a member of Options: "training.epochs"
  std::string_view by_default = {};  // as help says it, where that is not what `field` begins with
  bool follows = false;  // of a tool: where its variable is not set, the launcher's default counts
  Action on_list = Action::kRun;   // what --name=list asks for
  std::string_view meanings = {};  // of all those words: a line "word: meaning" each
  std::string_view needs = {};     // what it has no effect without (option_needs.h)
  bool needs_of_group = true;      // also what its group needs
  bool refused = false;            // without what it needs, instead of being without effect
  bool output = false;             // names a file or folder that is the run's own, which it writes
  std::string_view example = {};   // a value for --help=NAME; switches, words: may lack
  bool repeats = false;            // of a tool: each time it is given adds a value to `field`

  // The same option with one thing more, for rows of tables.
  constexpr OptionSpec Unit(std::string_view unit, std::string_view example = {}) const {
    return With(&OptionSpec::unit, unit).Example(example);
  }
  constexpr OptionSpec Means(std::string_view text) const {
    return With(&OptionSpec::meanings, text);
  }
  constexpr OptionSpec Needs(std::string_view text) const { return With(&OptionSpec::needs, text); }
  // The range of a member that a run does not have; others say theirs beside the member.
  constexpr OptionSpec Within(const Range& numbers) const {
    OptionSpec spec = *this;
    spec.range = numbers;
    return spec;
  }
  // Has an effect even where the others of its group have none.
  constexpr OptionSpec Always() const {
    OptionSpec spec = *this;
    spec.needs_of_group = false;
    return spec;
  }
  constexpr OptionSpec Refused() const {
    OptionSpec spec = *this;
    spec.refused = true;
    return spec;
  }
  constexpr OptionSpec Output() const {
    OptionSpec spec = *this;
    spec.output = true;
    return spec;
  }
  constexpr OptionSpec Example(std::string_view text) const {
    return With(&OptionSpec::example, text);
  }
  constexpr OptionSpec With(std::string_view OptionSpec::*member, std::string_view text) const {
    OptionSpec spec = *this;
    spec.*member = text;
    return spec;
  }

  // --flag alone means True, --noflag False.
  bool is_switch() const { return type == OptionType::kBool || words.starts_with("False,True"); }
};

// Spellings of earlier releases.
enum class AliasKind : uint8_t {
  kRename,    // takes what the option takes
  kInvert,    // a boolean with the opposite meaning
  kWhenTrue,  // a boolean: true means --name=value, false says nothing
};

struct OptionAlias {
  std::string_view old_name;
  std::string_view name;
  AliasKind kind = AliasKind::kRename;
  std::string_view value = {};  // of kWhenTrue
};

// What other frameworks' programs call an option, or an option with a value ("name=value"):
// suggested, not accepted.
struct OtherName {
  std::string_view other;
  std::string_view name;
};

// Values that earlier releases printed with the options but that cannot be set: name and what to do
// instead.
struct ComputedValue {
  std::string_view name;
  std::string_view advice;
};

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_OPTION_SPEC_H_
