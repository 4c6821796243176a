// Catches the mean of bytes, such as 123.675, where values are byte / 255: a run with it would
// train or predict without any message, and badly.

#ifndef DTNN_DATA_CHECK_OFFSETS_H_
#define DTNN_DATA_CHECK_OFFSETS_H_

#include "absl/status/status.h"
#include "data/normalize.h"
#include "data/preprocessing.h"

namespace dtnn {

// InvalidArgument where `preprocessing` gives byte / 255, and `by` would take more than 1 from
// that.
absl::Status CheckOffsets(const Normalization& by, const Preprocessing& preprocessing);

}  // namespace dtnn

#endif  // DTNN_DATA_CHECK_OFFSETS_H_
