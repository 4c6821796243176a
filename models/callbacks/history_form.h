// The format of a history (history.h), decided by the ending of its name.

#ifndef DTNN_MODELS_CALLBACKS_HISTORY_FORM_H_
#define DTNN_MODELS_CALLBACKS_HISTORY_FORM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtnn {

enum class HistoryForm : uint8_t { kText, kCsv, kJsonLines };

// .csv and .jsonl in any case; columns of text for .txt, .log, .dat, and names without an ending,
// which begins with a letter ("run1.5" has none). nullopt for other endings: a user who writes
// .json expects another format.
std::optional<HistoryForm> HistoryFormOf(std::string_view path);

// As .csv and .jsonl write it: the shortest text that reads back as the same number; null for NaN
// and infinity in .jsonl.
std::string HistoryNumber(HistoryForm form, double value);

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_HISTORY_FORM_H_
