// Whether the labels of a data set are numbers of its classes, before they are used as such.

#ifndef DTNN_DATA_CHECK_LABELS_H_
#define DTNN_DATA_CHECK_LABELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "data/dataset.h"

namespace dtnn {

// InvalidArgument, which names the sample, unless 0 <= label < outputs().
absl::Status CheckLabel(const Dataset& dataset, Split split, int64_t sample, int32_t label);

// The same of all labels that are known without reading samples (Dataset::labels), of which there
// must be one for each sample.
absl::Status CheckLabels(const Dataset& dataset, Split split);

}  // namespace dtnn

#endif  // DTNN_DATA_CHECK_LABELS_H_
