// The one table of command-line options: what each is called, what it takes, what it means, and
// where its value goes. Parser, help, parameter list and tests all read it; a new option is one
// row.
//
// A row bound to a member of Options works in this build, and its default is that member's. A row
// without one is known (misspellings are corrected, values are checked) but answers "not available
// in this build yet", unless the value asks for exactly what this build does anyway.

#ifndef DTNN_APPS_FLAGS_OPTION_TABLE_H_
#define DTNN_APPS_FLAGS_OPTION_TABLE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/flags/options.h"

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

// The word of `--help=WORD`, and the heading above the group's options.
std::string_view Name(OptionGroup group);
std::string_view Title(OptionGroup group);

enum class OptionType : uint8_t {
  kBool,    // --flag, --noflag, --flag=yes
  kInt,     // 64-bit whole number in `range`
  kReal,    // finite number in `range`
  kText,    // anything: names, paths
  kWord,    // one of `words`, any case; those that begin with False,True make it a switch too
  kWords,   // comma list of `words`, any case
  kInts,    // comma list of whole numbers in `range`, at least one
  kMetric,  // one of `words`, perhaps after "val_"
};

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   // low itself is outside
  bool high_open = false;  // high itself is outside
  friend bool operator==(const Range&, const Range&) = default;
};

// The member of Options that an option sets.
using OptionField =
    std::variant<std::monostate, bool Options::*, int64_t Options::*, double Options::*,
                 std::optional<int64_t> Options::*, std::string Options::*,
                 std::vector<std::string> Options::*, std::vector<int64_t> Options::*>;

struct OptionSpec {
  std::string_view name = {};  // with dashes
  OptionGroup group = {};
  OptionType type = {};
  std::string_view help = {};  // one line; after a colon at its end --help lists the words
  Range range = {};
  std::string_view words = {};          // comma list of the words that work in this build
  std::string_view missing_words = {};  // comma list of known words that do not yet
  OptionField field = {};

  // Only where `field` is empty: the documented default, and the values that change nothing here,
  // separated by '|' (nullopt: none).
  std::string_view documented_default = {};
  std::optional<std::string_view> harmless = {};

  bool available() const { return !std::holds_alternative<std::monostate>(field); }
  // --flag alone means True, --noflag False.
  bool is_switch() const { return type == OptionType::kBool || words.starts_with("False,True"); }
};

std::span<const OptionSpec> OptionTable();
const OptionSpec* FindOption(std::string_view name);

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

std::span<const OptionAlias> AliasTable();
const OptionAlias* FindAlias(std::string_view old_name);

// Old names of words ("accuracy").
struct WordAlias {
  std::string_view old_word;
  std::string_view word;
};
std::span<const WordAlias> WordAliasTable();

// Values that earlier releases printed beside the options but that nobody sets: name and what to do
// instead.
struct ComputedValue {
  std::string_view name;
  std::string_view advice;
};
std::span<const ComputedValue> ComputedValueTable();

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_OPTION_TABLE_H_
