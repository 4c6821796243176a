// What a tuner has found, as tables.

#ifndef DTNN_MODELS_RUN_TABLES_BEST_OF_TABLE_H_
#define DTNN_MODELS_RUN_TABLES_BEST_OF_TABLE_H_

#include <string>

#include "kernels/best_of/best_of.h"

namespace dtnn {

// A table for each operation and direction that was asked for; empty where none was. A row is a
// size: how many layers have it, the median of a call of each candidate in microseconds, the chosen
// one marked with '*', and its speed-up over what would run without a tuner. The last row is the
// sum over all layers, where all times are known.
std::string FormatBestOf(const BestOf& best_of);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_TABLES_BEST_OF_TABLE_H_
