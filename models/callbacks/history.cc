#include "models/callbacks/history.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "models/callbacks/test_columns.h"
#include "optim/losses/losses.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/output_file.h"
#include "tensor/text/counted.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

std::string TextLine(int64_t epoch, std::span<const double> values) {
  std::string line = absl::StrFormat("%3d", epoch);
  for (const double value : values) absl::StrAppendFormat(&line, " %20.4f", value);
  return line;
}

// Whether its numbers, written again, give the line.
bool IsTextLine(std::string_view line, int64_t epoch) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(line.data(), line.size()), ' ', absl::SkipEmpty());
  std::vector<double> values;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::optional<double> value = NumberIn<double>(words[i]);
    if (!value) return false;
    values.push_back(*value);
  }
  return !values.empty() && TextLine(epoch, values) == line;
}

constexpr char kOtherColumns[] =
    "use the metrics and validation of the run that this one continues, or no file for the "
    "history";

// What a line holds.
std::vector<std::string> ColumnNames(bool rate, const MetricSet& metric_set, bool validates,
                                     bool is_private) {
  std::vector<std::string> names = {"epoch"};
  if (rate) names.emplace_back("learning_rate");
  for (const std::string& name : metric_set.Names()) names.push_back(name);
  for (const std::string& name : metric_set.Names()) {
    if (validates) names.push_back("val_" + name);
  }
  if (is_private) names.emplace_back(kEpsilonName);
  return names;
}

std::vector<std::string> SplitAt(std::string_view text, const char* separators) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), absl::ByAnyChar(separators),
                        absl::SkipEmpty());
}

// The keys of an object on one line whose values are numbers or null.
std::vector<std::string> KeysOf(std::string_view object) {
  std::vector<std::string> keys;
  const std::vector<std::string> parts = SplitAt(object, "\"");
  for (size_t i = 1; i < parts.size(); i += 2) keys.push_back(parts[i]);
  return keys;
}

absl::StatusOr<HistoryForm> FormOf(std::string_view path) {
  if (const std::optional<HistoryForm> form = HistoryFormOf(path)) return *form;
  return InvalidArgument(
      path, ": unknown ending for a history file; expected .csv, .jsonl, .txt or none");
}

}  // namespace

// Whether `line` is the first of a history. Other programs' logs have columns of epochs and rates
// too, but not that of a loss of this library after them.
bool History::BeginsHistory(HistoryForm form, std::string_view line, std::string_view loss) {
  std::vector<std::string> columns;
  switch (form) {
    case HistoryForm::kText:
      return IsTextLine(line, 0);
    case HistoryForm::kCsv:
      columns = SplitAt(line, ",");
      break;
    case HistoryForm::kJsonLines:
      if (!line.starts_with("{\"epoch\": 1, ")) return false;
      columns = KeysOf(line);
      break;
  }
  return columns.size() >= 3 && columns[0] == "epoch" && columns[1] == "learning_rate" &&
         (columns[2] == loss || std::ranges::count(LossNames(), columns[2]) > 0);
}

absl::Status History::Check(std::string_view path, std::string_view loss) {
  DTNN_ASSIGN_OR_RETURN(const HistoryForm form, FormOf(path));
  return CheckOutputFile(path, "a history", [&](std::string_view start) {
    return BeginsHistory(form, start.substr(0, start.find('\n')), loss);
  });
}

absl::StatusOr<std::unique_ptr<History>> History::Create(std::string_view path,
                                                         const Trainer& trainer,
                                                         const MetricSet& metric_set,
                                                         bool validates, int64_t epochs_done,
                                                         Warn warn) {
  DTNN_RETURN_IF_ERROR(Check(path, metric_set.Names().front()));
  DTNN_ASSIGN_OR_RETURN(const HistoryForm form, FormOf(path));
  std::unique_ptr<History> history(new History(path, form, trainer));
  history->warn_ = std::move(warn);
  if (epochs_done == 0) return history;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return NotFound(path, ": does not exist; expected the history of the ", epochs_done,
                    " epochs that are done. Name the history file of the run that this one "
                    "continues, or none");
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  const std::string text =
      WithoutTest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, form);
  const int64_t wanted = epochs_done + (form == HistoryForm::kCsv ? 1 : 0);
  size_t end = 0;
  for (int64_t line = 0; line < wanted; ++line) {
    end = text.find('\n', end);
    if (end == std::string::npos) {
      return DataLoss(path, ": has ", Counted(line, "line"), ", but ", wanted,
                      " were expected for the epochs that are done; name the history file of the "
                      "run that this one continues, or none");
    }
    ++end;
  }
  history->text_ = text.substr(0, end);
  DTNN_RETURN_IF_ERROR(history->CheckColumns(ColumnNames(
      form != HistoryForm::kText, metric_set, validates, trainer.engine().epsilon().has_value())));
  return history;
}

// Lines to come must go with those that are kept.
absl::Status History::CheckColumns(const std::vector<std::string>& expected) const {
  const std::string_view text = text_;
  const std::string_view first = text.substr(0, text.find('\n'));
  const std::string_view last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  std::vector<std::string> found;
  switch (form_) {
    case HistoryForm::kText:  // whose columns have no names
      found = SplitAt(last, " \n");
      if (found.size() == expected.size()) return absl::OkStatus();
      return FailedPrecondition(path_, ": has ", found.size(), " columns, this run writes ",
                                expected.size(), " (", absl::StrJoin(expected, ","), "); ",
                                kOtherColumns);
    case HistoryForm::kCsv:
      found = SplitAt(first, ",");
      break;
    case HistoryForm::kJsonLines:
      found = KeysOf(last);
      break;
  }
  if (found == expected) return absl::OkStatus();
  return FailedPrecondition(path_, ": has the columns ", absl::StrJoin(found, ","),
                            ", this run writes ", absl::StrJoin(expected, ","), "; ",
                            kOtherColumns);
}

std::string History::Line(const Pass& training, const Pass* validation) const {
  NamedMetrics columns = MetricsOf(training, validation);
  if (form_ != HistoryForm::kText) {
    columns.insert(columns.begin(), {"learning_rate", trainer_->engine().learning_rate()});
  }
  std::string line;
  switch (form_) {
    case HistoryForm::kText: {
      std::vector<double> values;
      for (const auto& [name, value] : columns) values.push_back(value);
      line = TextLine(training.epoch, values);
      break;
    }
    case HistoryForm::kCsv:
      if (text_.empty()) {
        line = "epoch";
        for (const auto& [name, value] : columns) StrAppend(&line, ",", name);
        line += "\n";
      }
      StrAppend(&line, training.epoch + 1);
      for (const auto& [name, value] : columns) StrAppend(&line, ",", HistoryNumber(form_, value));
      break;
    case HistoryForm::kJsonLines:
      line = StrCat("{\"epoch\": ", training.epoch + 1);
      for (const auto& [name, value] : columns) {
        StrAppend(&line, ", \"", name, "\": ", HistoryNumber(form_, value));
      }
      line += "}";
      break;
  }
  return line + "\n";
}

absl::StatusOr<std::unique_ptr<History>> History::Continue(std::string_view path,
                                                           const Trainer& trainer,
                                                           std::string_view text,
                                                           int64_t epochs_done, bool writes,
                                                           Warn warn) {
  DTNN_ASSIGN_OR_RETURN(const HistoryForm form, FormOf(path));
  std::unique_ptr<History> history(new History(path, form, trainer));
  history->warn_ = std::move(warn);
  history->writes_ = writes;
  if (epochs_done == 0) return history;
  const std::string epochs = WithoutTest(text, form);
  size_t end = 0;
  for (int64_t line = 0; line < epochs_done + (form == HistoryForm::kCsv ? 1 : 0); ++line) {
    end = epochs.find('\n', end);
    if (end == std::string::npos) {
      return FailedPrecondition("the history of ", epochs_done, " epochs has ",
                                Counted(line, "line"));
    }
    ++end;
  }
  history->text_ = epochs.substr(0, end);
  DTNN_RETURN_IF_ERROR(history->Write());
  return history;
}

absl::Status History::OnEpochEnd(const Pass& training, const Pass* validation) {
  text_ = WithoutTest(text_, form_);
  text_ += Line(training, validation);
  return Write();
}

absl::Status History::AddTest(const NamedMetrics& metrics) {
  text_ = WithTest(text_, form_, metrics);
  return Write();
}

absl::Status History::WriteWhatIsMissing() {
  set_writes(true);
  const absl::StatusOr<std::vector<std::byte>> bytes = ReadFile(path_, kMostBytes);
  if (bytes.ok()) {
    const std::string_view there(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (there.starts_with(text_)) return absl::OkStatus();
  }
  return Write();
}

absl::Status History::Write() {
  if (!writes_) return absl::OkStatus();
  const absl::Status status = WriteFileAtomically(path_, std::as_bytes(std::span(text_)));
  if (status.ok() || !warn_) return status;
  if (!std::exchange(warned_, true)) {
    warn_(StrCat("the history is not written: ", status.message(), "; training continues"));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
