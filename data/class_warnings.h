// How many samples each class has, and what is worth a warning about it: classes that cannot be
// learned, because no sample shows them, and test samples of such classes.

#ifndef DTNN_DATA_CLASS_WARNINGS_H_
#define DTNN_DATA_CLASS_WARNINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace dtnn {

// One number per class; empty where the labels of the split are not known (Dataset::labels).
std::vector<int64_t> SamplesPerClass(const Dataset& dataset, Split split);

// A line each, for Dataset::warnings; none where the training split is not read.
std::vector<std::string> ClassWarnings(const Dataset& dataset);

}  // namespace dtnn

#endif  // DTNN_DATA_CLASS_WARNINGS_H_
