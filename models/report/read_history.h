// A history file (models/callbacks/history.h) read back, to compare runs.

#ifndef DTNN_MODELS_REPORT_READ_HISTORY_H_
#define DTNN_MODELS_REPORT_READ_HISTORY_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/callbacks/history_form.h"
#include "models/report/epochs.h"

namespace dtnn {

// Of a .csv or .jsonl file. InvalidArgument for columns of text, which have no names, and, with the
// line, for what is no history: other keys, missing values, numbers that are none, epochs that do
// not grow.
absl::StatusOr<std::vector<ReportEpoch>> ReadHistory(std::string_view path);

// Of a text; `name` stands for the path in messages.
absl::StatusOr<std::vector<ReportEpoch>> ParseHistory(std::string_view text, HistoryForm form,
                                                      std::string_view name);

}  // namespace dtnn

#endif  // DTNN_MODELS_REPORT_READ_HISTORY_H_
