#include "models/callbacks/test_columns.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::string_view kPrefix = "test_";

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string_view WithoutEnd(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// How many columns at the end of a line of names are of the test.
size_t TestColumnsOf(std::string_view line) {
  const std::vector<std::string> names =
      absl::StrSplit(absl::string_view(line.data(), line.size()), ',');
  size_t count = 0;
  while (count < names.size()) {
    const std::string& name = names[names.size() - 1 - count];
    if (!name.starts_with(kPrefix)) break;
    if (std::ranges::count(names, name.substr(kPrefix.size())) == 0) break;
    ++count;
  }
  return count;
}

std::string CsvWithoutTest(std::string_view text) {
  const std::vector<std::string_view> lines = LinesOf(text);
  const size_t columns = lines.empty() ? 0 : TestColumnsOf(WithoutEnd(lines[0]));
  if (columns == 0) return std::string(text);
  std::string without;
  for (const std::string_view whole : lines) {
    std::string_view line = WithoutEnd(whole);
    for (size_t i = 0; i < columns; ++i) line = line.substr(0, line.rfind(','));
    StrAppend(&without, line, whole.ends_with('\n') ? "\n" : "");
  }
  return without;
}

// Whether an object, without its end, has this key of the test and that of the training.
bool IsTestKey(std::string_view object, std::string_view key) {
  if (!key.starts_with(kPrefix)) return false;
  key.remove_prefix(kPrefix.size());
  return object.find(StrCat("\"", key, "\": ")) != object.npos;
}

std::string JsonLinesWithoutTest(std::string_view text) {
  std::string without;
  for (const std::string_view line : LinesOf(text)) {
    std::string_view object = line.substr(0, line.rfind('}'));
    for (;;) {
      const size_t comma = object.rfind(", \"");
      if (comma == object.npos) break;
      const std::string_view key = object.substr(comma + 3);
      if (!IsTestKey(object, key.substr(0, key.find('"')))) break;
      object = object.substr(0, comma);
    }
    StrAppend(&without, object, line.substr(std::min(line.rfind('}'), line.size())));
  }
  return without;
}

}  // namespace

std::string WithoutTest(std::string_view text, HistoryForm form) {
  switch (form) {
    case HistoryForm::kText: {
      const std::vector<std::string_view> lines = LinesOf(text);
      const bool test = !lines.empty() && lines.back().starts_with('#');
      return std::string(text.substr(0, text.size() - (test ? lines.back().size() : 0)));
    }
    case HistoryForm::kCsv:
      return CsvWithoutTest(text);
    case HistoryForm::kJsonLines:
      return JsonLinesWithoutTest(text);
  }
  return std::string(text);
}

std::string WithTest(std::string_view text, HistoryForm form, const NamedMetrics& metrics) {
  std::string without = WithoutTest(text, form);
  const std::vector<std::string_view> lines = LinesOf(without);
  const size_t header = form == HistoryForm::kCsv ? 1 : 0;
  if (lines.size() <= header || !without.ends_with('\n') || metrics.empty()) return without;
  std::string with;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool last = i + 1 == lines.size();
    std::string_view line = WithoutEnd(lines[i]);
    const bool object = form == HistoryForm::kJsonLines;
    if (object && last && line.ends_with('}')) line.remove_suffix(1);
    with += line;
    for (const auto& [name, value] : metrics) {
      if (form == HistoryForm::kCsv) {
        StrAppend(&with, ",", i == 0 ? name : last ? HistoryNumber(form, value) : "");
      } else if (object && last) {
        StrAppend(&with, ", \"", name, "\": ", HistoryNumber(form, value));
      }
    }
    with += object && last ? "}\n" : "\n";
  }
  if (form != HistoryForm::kText) return with;
  with += "#";
  for (const auto& [name, value] : metrics) with += absl::StrFormat(" %s %.4f", name, value);
  return with + "\n";
}

}  // namespace dtnn
