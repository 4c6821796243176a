#include "models/observe/report/read_history.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 28;
constexpr size_t kMostColumns = 1000;

using Row = std::vector<std::pair<std::string, double>>;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<double> ValueIn(std::string_view text) {
  if (text == "null" || text.empty()) return ReportEpoch::kUnknown;
  return NumberIn<double>(text);
}

std::vector<std::string_view> SplitAtCommas(std::string_view line) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t comma = line.find(',');
    parts.push_back(Trim(line.substr(0, comma)));
    if (comma == line.npos || parts.size() > kMostColumns) return parts;
    line.remove_prefix(comma + 1);
  }
}

// {"epoch": 1, "loss": 0.5, "val_loss": null}. Names have no escapes.
std::optional<Row> ParseObject(std::string_view line) {
  line = Trim(line);
  if (!line.starts_with('{') || !line.ends_with('}')) return std::nullopt;
  Row row;
  for (const std::string_view part : SplitAtCommas(line.substr(1, line.size() - 2))) {
    const size_t colon = part.find(':');
    if (colon == part.npos) return std::nullopt;
    const std::string_view key = Trim(part.substr(0, colon));
    if (key.size() < 3 || key.front() != '"' || key.back() != '"') return std::nullopt;
    const auto value = ValueIn(Trim(part.substr(colon + 1)));
    const std::string_view name = key.substr(1, key.size() - 2);
    if (!value || name.find_first_of("\"\\") != name.npos) return std::nullopt;
    row.emplace_back(name, *value);
  }
  return row;
}

class Reader {
 public:
  Reader(HistoryForm form, std::string_view name) : form_(form), name_(name) {}

  absl::StatusOr<RunHistory> Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      // Its last number may have lost digits; an object would lack its end.
      if (end == text.size() && form_ == HistoryForm::kCsv) {
        return Wrong("the last line has no end, as if the file was cut");
      }
      DTNN_RETURN_IF_ERROR(Take(Trim(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (run_.epochs.empty()) {
      return InvalidArgument(name_, ": holds no epochs; is it a history file?");
    }
    return std::move(run_);
  }

 private:
  absl::Status Wrong(std::string_view what) const {
    return InvalidArgument(name_, ", line ", line_, ": ", what, "; expected a history of a run");
  }

  absl::Status Take(std::string_view line) {
    if (line.empty()) return absl::OkStatus();
    if (form_ == HistoryForm::kJsonLines) {
      const std::optional<Row> row = ParseObject(line);
      return row ? Add(*row) : Wrong("the line is not an object of numbers");
    }
    const std::vector<std::string_view> parts = SplitAtCommas(line);
    if (columns_.empty()) {
      if (parts[0] != "epoch") return Wrong("the first column is not \"epoch\"");
      columns_.assign(parts.begin(), parts.end());
      if (columns_.size() > kMostColumns) return Wrong("too many columns");
      return absl::OkStatus();
    }
    if (parts.size() != columns_.size())
      return Wrong(StrCat(parts.size(), " values for ", columns_.size(), " names"));
    Row row;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::optional<double> value = ValueIn(parts[i]);
      if (!value) return Wrong("a value is not a number");
      row.emplace_back(columns_[i], *value);
    }
    return Add(row);
  }

  absl::Status Add(const Row& row) {
    ReportEpoch epoch;
    for (const auto& [name, value] : row) {
      if (name == "epoch") {
        if (!(value >= 1 && value <= 1e15)) return Wrong("the epoch is not a number from 1 on");
        epoch.epoch = int64_t(value);
      } else if (name == "learning_rate") {
        epoch.learning_rate = value;
      } else {
        epoch.metrics.emplace_back(OneLine(name, 200), value);
      }
    }
    if (epoch.epoch == 0) return Wrong("no epoch");
    if (!run_.epochs.empty() && epoch.epoch <= run_.epochs.back().epoch) {
      return Wrong("an epoch that is not after the one before");
    }
    run_.test = TakeTestMetrics(epoch.metrics);
    run_.epochs.push_back(std::move(epoch));
    return absl::OkStatus();
  }

  const HistoryForm form_;
  const std::string name_;
  int64_t line_ = 0;
  std::vector<std::string> columns_;  // of a .csv file
  RunHistory run_;
};

}  // namespace

NamedMetrics TakeTestMetrics(NamedMetrics& metrics) {
  constexpr std::string_view kPrefix = "test_";
  std::set<std::string, std::less<>> names;
  for (const auto& [name, value] : metrics) names.insert(name);
  NamedMetrics test;
  std::erase_if(metrics, [&](const auto& metric) {
    std::string_view name = metric.first;
    if (!name.starts_with(kPrefix)) return false;
    name.remove_prefix(kPrefix.size());
    if (!names.contains(name)) return false;
    test.emplace_back(name, metric.second);
    return true;
  });
  return test;
}

absl::StatusOr<RunHistory> ParseHistory(std::string_view text, HistoryForm form,
                                        std::string_view name) {
  if (form == HistoryForm::kText) {
    return InvalidArgument(name,
                           ": is not a .csv or .jsonl file; the columns of a history in text have "
                           "no names, so write histories that are to be compared as one of those");
  }
  return Reader(form, name).Run(text);
}

absl::StatusOr<RunHistory> ReadHistory(std::string_view path) {
  const std::optional<HistoryForm> form = HistoryFormOf(path);
  if (!form)
    return InvalidArgument(path, ": unknown ending for a history; expected .csv or .jsonl");
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  return ParseHistory({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, *form, path);
}

}  // namespace dtnn
