// Checks that the ranks of a run have matching data.

#ifndef DTNN_MODELS_TRAINING_RANKS_SAME_DATA_H_
#define DTNN_MODELS_TRAINING_RANKS_SAME_DATA_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "data/loading/fingerprint.h"

namespace dtnn {

// For ranks that share their data: `mine` are fingerprints of its splits. InvalidArgument on the
// ranks that differ from rank 0, naming the first thing that does. All ranks call it together.
absl::Status CompareData(Communicator& communicator, const std::vector<DataFingerprint>& mine);

// For ranks with their own data: the data set with as many classes as on the rank that has the
// most, if classes were counted from labels; with the classes of the rank that has the most,
// matched by name, if they have names. InvalidArgument on the ranks whose samples or targets have
// another form than those of rank 0, or that have a class which that rank has not. All ranks call
// it together.
absl::StatusOr<std::shared_ptr<const Dataset>> AgreeOnClasses(
    Communicator& communicator, std::shared_ptr<const Dataset> dataset);

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_RANKS_SAME_DATA_H_
