#include "apps/flags/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "apps/flags/option_table.h"
#include "comm/ranks/job/exit_code.h"
#include "models/run/options/in_force.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// It takes metrics after the loss, as earlier releases did.
constexpr std::string_view kLossOption = "loss-func";

// The words that messages offer.
std::string_view Offered(const OptionSpec& spec) {
  return spec.name == kLossOption ? LossWords() : spec.words;
}

constexpr std::string_view kTrueWords[] = {"true", "1", "yes", "y", "t", "on"};
constexpr std::string_view kFalseWords[] = {"false", "0", "no", "n", "f", "off"};

// Most shells leave the ~ of --name=~/data as it is.
std::string FromHome(std::string_view path) {
  const char* home = std::getenv("HOME");
  const bool at_home = path == "~" || path.starts_with("~/");
  if (!at_home || home == nullptr || *home == '\0') return std::string(path);
  return StrCat(home, path.substr(1));
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(absl::string_view(a.data(), a.size()),
                                absl::string_view(b.data(), b.size()));
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && absl::ascii_isspace(text.front())) text.remove_prefix(1);
  while (!text.empty() && absl::ascii_isspace(text.back())) text.remove_suffix(1);
  return text;
}

// A sign in front of a number; std::from_chars takes only '-'.
std::string_view WithoutPlus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

bool TakesNone(const OptionSpec& spec) { return DefaultText(spec) == "None"; }

absl::Status MustBe(const OptionSpec& spec) {
  return UsageError("must be ", DescribeAllowed(spec));
}

// A shell's variable that is not set, more likely than a wish for none: without --encryption,
// everybody reads the updates.
absl::Status CheckNotEmpty(const OptionSpec& spec, std::string_view text) {
  const bool of_paths = spec.type == OptionType::kPath;  // describes None itself
  if (!text.empty() ||
      !(of_paths || spec.type == OptionType::kText || spec.type == OptionType::kWord)) {
    return absl::OkStatus();
  }
  return UsageError("is empty; must be ", DescribeAllowed(spec),
                    TakesNone(spec) && !of_paths ? "; leave the option out to have none" : "");
}

absl::StatusOr<Value> ParseBoolean(const OptionSpec& spec, std::string_view text) {
  if (const std::optional<bool> value = ParseBool(text)) return Value(*value);
  std::vector<std::string_view> words(std::begin(kTrueWords), std::end(kTrueWords));
  words.insert(words.end(), std::begin(kFalseWords), std::end(kFalseWords));
  return UsageError("must be ", DescribeAllowed(spec), DidYouMean(text, words));
}

absl::StatusOr<int64_t> ParseInt(const OptionSpec& spec, std::string_view text) {
  text = WithoutPlus(Trim(text));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return UsageError("does not fit into 64 bits; must be ", DescribeAllowed(spec));
  }
  if (error != std::errc() || end != text.data() + text.size() ||
      !spec.range.Takes(double(value))) {
    return MustBe(spec);
  }
  return value;
}

absl::StatusOr<double> ParseReal(const OptionSpec& spec, std::string_view text) {
  text = WithoutPlus(Trim(text));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return UsageError("too large or too small for a real number; must be ", DescribeAllowed(spec));
  }
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      !spec.range.Takes(value)) {
    return MustBe(spec);
  }
  return value == 0 ? 0.0 : value;  // -0 is 0
}

// `; did you mean "NEAREST"?` after an unknown word.
std::string Suggestion(const OptionSpec& spec, std::string_view word) {
  std::vector<std::string_view> offered = SplitList(Offered(spec));
  for (const OtherName& other : OtherWordTable()) {
    if (EqualsIgnoreCase(word, other.other) && std::ranges::count(offered, other.name) > 0) {
      word = other.name;
    }
  }
  for (const WordAlias& alias : WordAliasTable()) {
    if (std::ranges::count(offered, alias.word) > 0) offered.push_back(alias.old_word);
  }
  return DidYouMean(word, offered);
}

// The canonical spelling of a word.
absl::StatusOr<std::string> ParseWord(const OptionSpec& spec, std::string_view text) {
  std::string_view word = Trim(text);
  const bool prefixed = spec.type == OptionType::kMetric && word.starts_with("val_");
  if (prefixed) word.remove_prefix(4);
  const std::vector<std::string_view> words = SplitList(spec.words);
  if (const auto truth = ParseBool(word); truth && spec.is_switch())
    word = *truth ? "True" : "False";
  for (const WordAlias& alias : WordAliasTable()) {
    if (EqualsIgnoreCase(word, alias.old_word) && std::ranges::count(words, alias.word) > 0) {
      word = alias.word;
    }
  }
  for (const std::string_view known : words) {
    if (EqualsIgnoreCase(word, known)) return StrCat(prefixed ? "val_" : "", known);
  }
  // What is off by an empty list, and not by a word.
  const bool off = EqualsIgnoreCase(word, "none") || EqualsIgnoreCase(word, "off");
  return UsageError("unknown word \"", OneLine(word, 80), "\"; must be ", DescribeAllowed(spec),
                    off && spec.type == OptionType::kWords && spec.name != kLossOption
                        ? StrCat("; for none of them write --", spec.name, "=")
                        : Suggestion(spec, word));
}

absl::StatusOr<Value> ParseWordList(const OptionSpec& spec, std::string_view text) {
  std::vector<std::string> list;
  for (const std::string_view item : SplitList(text)) {
    DTNN_ASSIGN_OR_RETURN(std::string word, ParseWord(spec, item));
    if (std::ranges::count(list, word) == 0) {
      list.push_back(std::move(word));
    } else if (spec.group == OptionGroup::kSchedulers) {  // each has its one place in the order
      return UsageError("names ", word, " twice");
    }
  }
  return Value(std::move(list));
}

// `parse` reads one item.
template <typename Parse>
absl::StatusOr<Value> ParseNumberList(const OptionSpec& spec, std::string_view text, Parse parse) {
  std::vector<typename std::invoke_result_t<Parse, const OptionSpec&, std::string_view>::value_type>
      list;
  for (const std::string_view item : SplitList(text)) {
    DTNN_ASSIGN_OR_RETURN(const auto number, parse(spec, item));
    list.push_back(number);
  }
  if (list.empty()) return MustBe(spec);
  return Value(std::move(list));
}

}  // namespace

std::optional<bool> ParseBool(std::string_view text) {
  const auto equals = [&](std::string_view word) { return EqualsIgnoreCase(text, word); };
  if (std::ranges::any_of(kTrueWords, equals)) return true;
  if (std::ranges::any_of(kFalseWords, equals)) return false;
  return std::nullopt;
}

absl::StatusOr<Value> ParseValue(const OptionSpec& spec, std::string_view text) {
  if (EqualsIgnoreCase(text, "none") && TakesNone(spec)) return Value();
  DTNN_RETURN_IF_ERROR(CheckNotEmpty(spec, text));
  switch (spec.type) {
    case OptionType::kBool:
      return ParseBoolean(spec, text);
    case OptionType::kInt: {
      DTNN_ASSIGN_OR_RETURN(const int64_t value, ParseInt(spec, text));
      return Value(value);
    }
    case OptionType::kReal: {
      DTNN_ASSIGN_OR_RETURN(const double value, ParseReal(spec, text));
      return Value(value);
    }
    case OptionType::kPath:
    case OptionType::kText:
      if (text.find('\0') != std::string_view::npos) return UsageError("contains a zero byte");
      if (const auto truth = ParseBool(text); truth && spec.is_switch()) {
        return Value(std::string(*truth ? "True" : "False"));
      }
      return Value(FromHome(text));
    case OptionType::kWord:
    case OptionType::kMetric: {
      DTNN_ASSIGN_OR_RETURN(std::string word, ParseWord(spec, text));
      return Value(std::move(word));
    }
    case OptionType::kWords:
      return ParseWordList(spec, text);
    case OptionType::kInts:
      return ParseNumberList(spec, text, ParseInt);
    case OptionType::kReals:
      return ParseNumberList(spec, text, ParseReal);
  }
  return MustBe(spec);
}

std::string DescribeAllowed(const OptionSpec& spec) {
  const auto words = [&] {
    return absl::StrJoin(SplitList(Offered(spec)), ", ",
                         [](auto* out, auto word) { out->append(word); });
  };
  const std::string bounds = spec.range.ToText();
  switch (spec.type) {
    case OptionType::kBool:
      return "true, 1, yes, y, t, on or false, 0, no, n, f, off";
    case OptionType::kInt:
      return "a whole number" + bounds;
    case OptionType::kReal:
      return "a real number" + bounds;
    case OptionType::kInts:
      return "a comma list of whole numbers" + bounds;
    case OptionType::kReals:
      return "a comma list of real numbers" + bounds;
    case OptionType::kText:
      return spec.is_switch() ? "True, False or the name of a file" : "a text";
    case OptionType::kPath:
      return StrCat("the name of a file or folder", TakesNone(spec) ? ", or None" : "");
    case OptionType::kWords:
      return (spec.name == kLossOption ? "one of: " : "a comma list of: ") + words();
    case OptionType::kMetric:
      return "one of these, with or without val_: " + words();
    case OptionType::kWord:
      break;
  }
  return SplitList(spec.words).size() == 1 ? words() : "one of: " + words();
}

std::string DefaultText(const OptionSpec& spec) {
  if (!spec.by_default.empty() || spec.field.load == nullptr) return std::string(spec.by_default);
  static const Options& defaults = *new Options(OptionsInForce(Options()));
  const Value value = Load(&defaults, spec);
  const bool is_set = !std::holds_alternative<std::monostate>(value);
  return is_set || !spec.follows ? FormatValue(value) : DefaultText(*FindOption(spec.name));
}

bool IsDefault(const OptionSpec& spec, const Value& value) {
  const absl::StatusOr<Value> by_default = ParseValue(spec, DefaultText(spec));
  return by_default.ok() && *by_default == value;
}

Options OptionsInForce(Options options) {
  static_cast<RunOptions&>(options) = InForce(options);
  return options;
}

Value Load(const Options* options, const OptionSpec& spec) {
  return spec.field.load == nullptr ? Value() : spec.field.load(options, spec.field.variable);
}

void Store(const Value& value, const OptionSpec& spec, Options* options) {
  if (spec.field.store != nullptr) spec.field.store(value, options, spec.field.variable);
}

}  // namespace dtnn
