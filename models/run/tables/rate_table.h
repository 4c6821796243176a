// How the loss followed the learning rate in a range test (learning_rate_range.h), as printed: a
// curve of bars, and the rate that the run takes.

#ifndef DTNN_MODELS_RUN_TABLES_RATE_TABLE_H_
#define DTNN_MODELS_RUN_TABLES_RATE_TABLE_H_

#include <string>

#include "models/training/rates/learning_rate_range.h"

namespace dtnn {

// A line for every few updates, with the smoothed loss after the last of them.
std::string FormatRateRange(const LearningRateRange& range);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_TABLES_RATE_TABLE_H_
