// A history file (models/callbacks/history.h) read back, to compare runs.

#ifndef DTNN_MODELS_OBSERVE_REPORT_READ_HISTORY_H_
#define DTNN_MODELS_OBSERVE_REPORT_READ_HISTORY_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/callbacks/history_form.h"
#include "models/observe/report/epochs.h"

namespace dtnn {

struct RunHistory {
  std::vector<ReportEpoch> epochs = {};
  NamedMetrics test = {};  // on the test data, after the last epoch; empty: not known
};

// Reads a .csv or .jsonl file. InvalidArgument for columns of text, which have no names, and, with
// the line, for what is not a history: other keys, missing values, texts instead of numbers, epochs
// that do not grow.
absl::StatusOr<RunHistory> ReadHistory(std::string_view path);

// Reads a text; `name` stands for the path in messages.
absl::StatusOr<RunHistory> ParseHistory(std::string_view text, HistoryForm form,
                                        std::string_view name);

// Removes results on the test data from `metrics`, "test_X" beside "X", and returns them without
// "test_".
NamedMetrics TakeTestMetrics(NamedMetrics& metrics);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_READ_HISTORY_H_
