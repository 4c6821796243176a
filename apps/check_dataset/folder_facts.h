// What is worth knowing of images that are sorted into a folder per class (data/datasets/folder.h)
// before a network is trained on them, although nothing of it is an error.

#ifndef DTNN_APPS_CHECK_DATASET_FOLDER_FACTS_H_
#define DTNN_APPS_CHECK_DATASET_FOLDER_FACTS_H_

#include <string>

#include "absl/status/statusor.h"

namespace dtnn {

// The extents of the first image of the split in `folder` (<path>/train) or, with `all`, of all of
// them, which reads every file. Lines that begin with two blanks. Other files are passed over.
absl::StatusOr<std::string> DescribeFolder(const std::string& folder, bool all);

}  // namespace dtnn

#endif  // DTNN_APPS_CHECK_DATASET_FOLDER_FACTS_H_
