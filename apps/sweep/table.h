// The table that ends a sweep: a row per run, the best first.

#ifndef DTNN_APPS_SWEEP_TABLE_H_
#define DTNN_APPS_SWEEP_TABLE_H_

#include <string>
#include <vector>

#include "models/observe/report/comparison.h"

namespace dtnn {

struct SweptRun {
  std::vector<std::string> values = {};  // of the grid's options
  ComparedRun run = {};
};

// By the best value of the loss of validation, or of training where no run has that one; runs
// without it last.
void SortByLoss(std::vector<SweptRun>& runs);

// `names`: the grid's options. Then a column for the best value of each metric.
std::string FormatTable(const std::vector<std::string>& names, const std::vector<SweptRun>& runs);

}  // namespace dtnn

#endif  // DTNN_APPS_SWEEP_TABLE_H_
