#include "apps/flags/help.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "apps/flags/option_needs.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kHelpColumn = 37;   // of lists
constexpr size_t kValueColumn = 12;  // of an option at length

constexpr std::string_view kMainOptions[] = {
    "model",    "dataset",        "num-epochs", "batch-size", "optimizer", "learning-rate",
    "evaluate", "checkpoint-dir", "resume",     "save-model", "parallel"};

Syntax LauncherSyntax() {
  return {.options = OptionTable(),
          .aliases = AliasTable(),
          .computed = ComputedValueTable(),
          .others = OtherNameTable()};
}

// Appends the words of `text` to `out`, which stands at column `column` of a line; further lines
// are indented by `indent`.
void Wrap(std::string_view text, size_t column, size_t indent, std::string& out) {
  bool line_is_empty = true;
  while (!text.empty()) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    if (!line_is_empty && column + 1 + word.size() > kColumns) {
      out.append("\n").append(indent, ' ');
      column = indent;
      line_is_empty = true;
    }
    if (!line_is_empty) out += ' ';
    column += word.size() + (line_is_empty ? 0 : 1);
    out += word;
    line_is_empty = false;
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  out += '\n';
}

// "SECONDS", "MiB".
std::string UnitName(const OptionSpec& spec, std::string_view otherwise) {
  const std::string unit(spec.unit.empty() ? otherwise : spec.unit);
  const bool lower = std::ranges::none_of(unit, absl::ascii_isupper);
  return lower ? absl::AsciiStrToUpper(unit) : unit;
}

void AppendOption(const OptionSpec& spec, bool shortened, std::string& out) {
  const size_t start = out.size();
  StrAppend(&out, "  --", spec.name, ValuePlaceholder(spec, shortened));
  const size_t width = out.size() - start;
  if (width + 2 > kHelpColumn) {
    out.append("\n").append(kHelpColumn, ' ');
  } else {
    out.append(kHelpColumn - width, ' ');
  }
  std::string text = HelpWithList(spec);
  if (const std::string value = DefaultText(spec); value != "None" && !value.empty()) {
    StrAppend(&text, " [", value, "]");
  }
  Wrap(text, kHelpColumn, kHelpColumn, out);
}

void AppendGroup(OptionGroup group, std::string& out) {
  bool first = true;
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.group != group) continue;
    if (first) {
      StrAppend(&out, out.empty() ? "" : "\n", Title(group), " (", Name(group), ")\n");
    }
    first = false;
    AppendOption(spec, /*shortened=*/false, out);
  }
}

// One line of an option at length.
void AppendFact(std::string_view label, std::string_view text, std::string& out) {
  const size_t start = out.size();
  StrAppend(&out, "  ", label);
  out.append(kValueColumn - std::min(out.size() - start, kValueColumn), ' ');
  Wrap(text, kValueColumn, kValueColumn, out);
}

// The lines "word: meaning" as two columns.
void AppendMeanings(const OptionSpec& spec, std::string& out) {
  std::vector<std::pair<std::string_view, std::string_view>> lines;
  size_t width = 0;
  for (std::string_view rest = spec.meanings; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t colon = line.find(": ");
    lines.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    width = std::max(width, colon);
  }
  for (const auto& [word, meaning] : lines) {
    out.append(kValueColumn + 2, ' ').append(word).append(width + 2 - word.size(), ' ');
    const size_t column = kValueColumn + 4 + width;
    Wrap(meaning, column, column, out);
  }
}

std::string Takes(const OptionSpec& spec) {
  const std::string name(spec.name);
  if (spec.on_list != Action::kRun && spec.words.empty()) {
    return StrCat("what --", name, "=list shows");
  }
  switch (spec.type) {
    case OptionType::kBool:
      return StrCat("True or False; --", name, " means True, --no", name, " means False");
    case OptionType::kWords:
      return "one or more of these, separated by commas; in Python and in files of options a list:";
    case OptionType::kMetric:
      return "one of these, with val_ before it for the validation split:";
    default:
      return spec.meanings.empty() ? DescribeAllowed(spec) : "one of:";
  }
}

std::string Example(const OptionSpec& spec) {
  const std::string name(spec.name), by_default = DefaultText(spec);
  if (!spec.example.empty()) {
    // What a shell would replace stands in quotes.
    const std::string_view quote =
        spec.example.find_first_of("*? ") == spec.example.npos ? "" : "'";
    return StrCat("--", name, "=", quote, spec.example, quote);
  }
  if (spec.type == OptionType::kBool) return (by_default == "True" ? "--no" : "--") + name;
  for (const std::string_view word : SplitList(spec.words)) {
    if (word != by_default) return StrCat("--", name, "=", word);
  }
  return spec.words.empty() ? "" : StrCat("--", name, "=", by_default);
}

// "--a, --b".
std::string JoinOptions(const std::vector<std::string_view>& names) {
  return absl::StrJoin(
      names, ", ", [](std::string* out, std::string_view name) { out->append("--").append(name); });
}

// Earlier spellings: "--momentum", "--non-blocking-mpi (the opposite)".
std::string OldSpellings(const OptionSpec& option, const Syntax& syntax) {
  std::string text;
  for (const OptionAlias& alias : syntax.aliases) {
    if (alias.name != option.name) continue;
    StrAppend(&text, text.empty() ? "" : ", ", "--", alias.old_name);
    if (alias.kind == AliasKind::kInvert) text += " (the opposite)";
    if (alias.kind == AliasKind::kWhenTrue) {
      StrAppend(&text, " (means --", alias.name, "=", alias.value, ")");
    }
  }
  return text;
}

std::string Page(std::string_view about) {
  std::string out = StrCat(about, "\n\n");
  for (const std::string_view option : kMainOptions) {
    AppendOption(*FindOption(option), /*shortened=*/true, out);
  }
  std::vector<std::string_view> topics;
  for (int g = 0; g < kOptionGroups; ++g) {
    const OptionGroup group = static_cast<OptionGroup>(g);
    topics.push_back(Name(group));
  }
  std::string more = "--help=OPTION explains it, --help=all lists all, --help=TOPIC those of: ";
  StrAppend(&more,
            absl::StrJoin(topics, ", ", [](auto* text, auto topic) { text->append(topic); }));
  out += "\n";
  Wrap(more, 0, 2, out);
  return out;
}

std::string Everything() {
  std::string out =
      "Write --name=value or --name value. Switches: --name or --noname. Dashes and underscores\n"
      "in names are the same. Defaults stand in brackets. The environment variable\n"
      "OMP_NUM_THREADS sets the number of threads, DTNN_SIMD the instruction set (amx,\n"
      "avx512_bf16, avx512, avx2, scalar).\n";
  for (int g = 0; g < kOptionGroups; ++g) AppendGroup(static_cast<OptionGroup>(g), out);
  out += "\n--help=OPTION explains an option, --version prints the version.\n";
  return out;
}

// What a word of --help=WORD that means nothing may have been meant for.
std::string Suggestions(std::string_view word, std::span<const std::string_view> known) {
  constexpr size_t kShown = 5;
  std::vector<std::string_view> names;
  if (const auto nearest = NearestName(word, known)) names.push_back(*nearest);
  for (const std::string_view name : known) {
    if (names.size() == kShown) break;
    const bool holds = word.size() >= 2 && name.find(word) != name.npos;
    if (holds && std::ranges::count(names, name) == 0) names.push_back(name);
  }
  return names.empty() ? "" : "; did you mean " + JoinOr(names) + "?";
}

std::optional<OptionGroup> FindGroup(std::string_view topic) {
  for (int g = 0; g < kOptionGroups; ++g) {
    if (topic == Name(static_cast<OptionGroup>(g))) return static_cast<OptionGroup>(g);
  }
  return std::nullopt;
}

}  // namespace

std::string ValuePlaceholder(const OptionSpec& spec, bool shortened) {
  switch (spec.type) {
    case OptionType::kBool:
      return "";
    case OptionType::kInt:
      return "=" + UnitName(spec, "N");
    case OptionType::kReal:
      return "=" + UnitName(spec, "X");
    case OptionType::kText:
      return spec.is_switch() ? StrCat("[=", UnitName(spec, "NAME"), "]")
                              : "=" + UnitName(spec, "NAME");
    case OptionType::kPath:
      return "=PATH";
    case OptionType::kInts:
      return "=" + UnitName(spec, "N,...");
    case OptionType::kReals:
      return "=" + UnitName(spec, "X,...");
    case OptionType::kWord: {
      constexpr size_t kMostOfALine = 90;
      if (shortened || spec.name.size() + spec.words.size() > kMostOfALine) return "=NAME";
      std::string words(spec.words);
      std::ranges::replace(words, ',', '|');
      return "=" + words;
    }
    case OptionType::kWords:
      return "=NAME,...";
    case OptionType::kMetric:
      return "=NAME";
  }
  return "";
}

std::string_view HelpWithoutList(const OptionSpec& spec) {
  return spec.help.ends_with(':') ? spec.help.substr(0, spec.help.rfind(';')) : spec.help;
}

std::string HelpWithList(const OptionSpec& spec) {
  std::string text(spec.help);
  if (text.ends_with(':')) {
    const std::vector<std::string_view> words = SplitList(spec.words);
    StrAppend(&text, " ",
              absl::StrJoin(std::vector<std::string>(words.begin(), words.end()), ", "));
  }
  return text;
}

std::string DescribeOptions(std::span<const OptionSpec> options) {
  std::string text;
  for (const OptionSpec& spec : options) AppendOption(spec, /*shortened=*/false, text);
  return text;
}

std::string DescribeOption(const OptionSpec& option, const Syntax& syntax) {
  std::string out = StrCat("--", option.name, ValuePlaceholder(option, /*shortened=*/true), "\n  ");
  Wrap(HelpWithoutList(option), 2, 2, out);
  out += "\n";
  AppendFact("takes", Takes(option), out);
  AppendMeanings(option, out);
  const std::string by_default = DefaultText(option);
  AppendFact("default", by_default.empty() ? "empty" : by_default, out);
  if (const std::string needs = DescribeNeeds(option); !needs.empty()) {
    const char* const otherwise = option.refused ? "is an error" : "has no effect";
    AppendFact("needs", StrCat(needs, "; otherwise this option ", otherwise), out);
  }
  std::vector<std::string_view> users;
  for (const OptionSpec& other : syntax.options) {
    if (NeedsOption(other, option.name)) users.push_back(other.name);
  }
  if (!users.empty()) AppendFact("with it", JoinOptions(users), out);
  if (const std::string old = OldSpellings(option, syntax); !old.empty()) {
    AppendFact("also", old, out);
  }
  if (const std::string example = Example(option); !example.empty()) {
    AppendFact("example", example, out);
  }
  return out;
}

absl::StatusOr<const OptionSpec*> FindHelp(std::string_view word, const Syntax& syntax,
                                           std::span<const std::string_view> topics) {
  std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::ranges::replace(name, '_', '-');
  if (const OptionSpec* option = FindSpelling(name, syntax)) return option;
  const std::string shown = StrCat("--help=", OneLine(word, 80), ": ");
  const auto computed = std::ranges::find(syntax.computed, name, &ComputedValue::name);
  if (computed != syntax.computed.end()) {
    return UsageError(shown, "cannot be set; ", computed->advice);
  }
  std::vector<std::string_view> known(topics.begin(), topics.end());
  const auto other = std::ranges::find(syntax.others, name, &OtherName::other);
  if (other != syntax.others.end()) name = other->name;
  for (const OptionSpec& spec : syntax.options) known.push_back(spec.name);
  for (const OptionAlias& alias : syntax.aliases) known.push_back(alias.old_name);
  return UsageError(shown, "no such ", topics.empty() ? "" : "topic or ", "option",
                    Suggestions(name, known), " (--help=all lists all options)");
}

absl::StatusOr<std::string> HelpText(std::string_view about, std::string_view topic) {
  if (topic.empty()) return Page(about);
  if (topic == "all") return Everything();
  std::vector<std::string_view> topics;
  for (int g = 0; g < kOptionGroups; ++g) topics.push_back(Name(static_cast<OptionGroup>(g)));
  const std::optional<OptionGroup> group = FindGroup(topic);
  const Syntax syntax = LauncherSyntax();
  std::string out;
  if (!group || FindOption(topic) != nullptr) {
    DTNN_ASSIGN_OR_RETURN(const OptionSpec* option, FindHelp(topic, syntax, topics));
    out = DescribeOption(*option, syntax);
    if (!group) {
      const std::string name(Name(option->group));
      AppendFact("topic", StrCat(name, "; --help=", name, " lists its options"), out);
    }
  }
  if (group) {
    AppendGroup(*group, out);
    out += "\n--help=OPTION explains an option.\n";
  }
  return out;
}

}  // namespace dtnn
