// How the loss followed the learning rate in a range test, before training.

#ifndef DTNN_MODELS_OBSERVE_REPORT_RATE_SECTION_H_
#define DTNN_MODELS_OBSERVE_REPORT_RATE_SECTION_H_

#include <string>

#include "models/training/rates/learning_rate_range.h"

namespace dtnn {

// HTML: a sentence, the curve, and its points as a table. Empty without points.
std::string FormatRates(const LearningRateRange& range);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_RATE_SECTION_H_
