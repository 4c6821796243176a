// Results on the test data in the text of a history (history.h). They belong to the last epoch, so
// that each line stays an epoch, and come off again before a resumed run adds epochs.

#ifndef DTNN_MODELS_CALLBACKS_TEST_COLUMNS_H_
#define DTNN_MODELS_CALLBACKS_TEST_COLUMNS_H_

#include <string>
#include <string_view>

#include "models/callbacks/history_form.h"
#include "models/training/step/metric_averages.h"

namespace dtnn {

// `text` with these metrics, whose names begin with "test_", in place of those that it has. A text
// without epochs, and one that does not end with a whole line, stay as they are.
std::string WithTest(std::string_view text, HistoryForm form, const NamedMetrics& metrics);

// `text` without the columns or keys "test_X" beside a column or key "X", and without a last line
// that begins with "#".
std::string WithoutTest(std::string_view text, HistoryForm form);

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_TEST_COLUMNS_H_
