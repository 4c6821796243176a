// In which form a history (history.h) is written, by the ending of its name.

#ifndef DTNN_MODELS_CALLBACKS_HISTORY_FORM_H_
#define DTNN_MODELS_CALLBACKS_HISTORY_FORM_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace dtnn {

enum class HistoryForm : uint8_t { kText, kCsv, kJsonLines };

// .csv and .jsonl in any case; columns of text for .txt, .log, .dat, and names without an ending,
// which begins with a letter ("run1.5" has none). Nothing for other endings: who writes .json
// expects another form.
std::optional<HistoryForm> HistoryFormOf(std::string_view path);

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_HISTORY_FORM_H_
