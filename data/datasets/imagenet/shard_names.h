// The names of the .npz files of a split, "train-00017-of-01024.npz", say how many there are: an
// index that cannot be lost. Files of a copy that was stopped, and of two conversions beside each
// other, are found by it.

#ifndef DTNN_DATA_DATASETS_IMAGENET_SHARD_NAMES_H_
#define DTNN_DATA_DATASETS_IMAGENET_SHARD_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

// `files`: paths of all files of one split. InvalidArgument, with the files and what to do, unless
// all of them are of one set and none of it is missing, or no name says of how many it is one.
absl::Status CheckShardNames(const std::vector<std::string>& files);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_SHARD_NAMES_H_
