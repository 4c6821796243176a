#include "apps/flags/help.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/flags/nearest.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/job/exit_code.h"

namespace dtnn {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kHelpColumn = 37;

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

std::string Placeholder(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::kBool:
      return "";
    case OptionType::kInt:
      return "=N";
    case OptionType::kReal:
      return "=X";
    case OptionType::kText:
      return "=NAME";
    case OptionType::kPath:
      return "=PATH";
    case OptionType::kInts:
      return "=N,...";
    case OptionType::kReals:
      return "=X,...";
    case OptionType::kWord: {
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

void AppendOption(const OptionSpec& spec, std::string& out) {
  const size_t start = out.size();
  absl::StrAppend(&out, "  --", std::string(spec.name), Placeholder(spec));
  const size_t width = out.size() - start;
  if (width + 2 > kHelpColumn) {
    out.append("\n").append(kHelpColumn, ' ');
  } else {
    out.append(kHelpColumn - width, ' ');
  }
  std::string text(spec.help);
  if (text.ends_with(':')) {
    const std::vector<std::string_view> words = SplitList(spec.words);
    absl::StrAppend(&text, " ",
                    absl::StrJoin(std::vector<std::string>(words.begin(), words.end()), ", "));
  }
  if (const std::string value = DefaultText(spec); value != "None" && !value.empty()) {
    absl::StrAppend(&text, " [", value, "]");
  }
  Wrap(text, kHelpColumn, kHelpColumn, out);
}

void AppendAvailable(std::optional<OptionGroup> only, std::string& out) {
  for (int g = 0; g < kOptionGroups; ++g) {
    const OptionGroup group = static_cast<OptionGroup>(g);
    if (only && group != *only) continue;
    bool first = true;
    for (const OptionSpec& spec : OptionTable()) {
      if (spec.group != group || !spec.available()) continue;
      if (first)
        absl::StrAppend(&out, "\n", std::string(Title(group)), " (", std::string(Name(group)),
                        ")\n");
      first = false;
      AppendOption(spec, out);
    }
  }
}

void AppendMissing(std::optional<OptionGroup> only, std::string& out) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : OptionTable()) {
    if (!spec.available() && (!only || spec.group == *only)) {
      names.push_back("--" + std::string(spec.name));
    }
  }
  if (names.empty()) return;
  out += "\nKnown, but not available in this build yet (defaults are taken):\n  ";
  Wrap(absl::StrJoin(names, " "), 2, 2, out);
}

absl::StatusOr<OptionGroup> FindTopic(std::string_view topic) {
  std::vector<std::string_view> names;
  for (int g = 0; g < kOptionGroups; ++g) {
    names.push_back(Name(static_cast<OptionGroup>(g)));
    if (topic == names.back()) return static_cast<OptionGroup>(g);
  }
  std::string all;
  for (const std::string_view name : names)
    absl::StrAppend(&all, all.empty() ? "" : ", ", std::string(name));
  return UsageError(absl::StrCat("--help=", OneLine(topic, 80), ": no such topic; must be one of: ",
                                 all, DidYouMean(topic, names)));
}

}  // namespace

std::string DescribeOptions(std::span<const OptionSpec> options) {
  std::string text;
  for (const OptionSpec& spec : options) AppendOption(spec, text);
  return text;
}

absl::StatusOr<std::string> HelpText(std::string_view program, std::string_view topic) {
  std::optional<OptionGroup> only;
  std::string out;
  if (!topic.empty()) {
    const absl::StatusOr<OptionGroup> group = FindTopic(topic);
    if (!group.ok()) return group.status();
    only = *group;
  } else {
    const std::string name(program);
    out = absl::StrCat(
        "Trains or tests a neural network.\n\n"
        "  ",
        name,
        "                                 the main job, with defaults it prints\n"
        "  ",
        name,
        " --model=NAME --dataset=NAME ... a run of your own\n"
        "  ",
        name,
        " --model=list | --dataset=list   what there is\n"
        "  ",
        name,
        " --help | --help=TOPIC           this text, or one topic of it\n\n"
        "Write --name=value or --name value; booleans --name, --noname or --name=yes. Dashes and\n"
        "underscores are the same. Defaults stand in brackets. OMP_NUM_THREADS sets the "
        "threads.\n");
  }
  AppendAvailable(only, out);
  AppendMissing(only, out);
  return out;
}

}  // namespace dtnn
