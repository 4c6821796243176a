// What is worth knowing of images that are sorted into a folder per class (data/datasets/folder.h)
// before a network is trained on them, although nothing of it is an error.

#ifndef DTNN_APPS_CHECK_DATASET_FOLDER_FACTS_H_
#define DTNN_APPS_CHECK_DATASET_FOLDER_FACTS_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace dtnn {

// Of the part in `folder` (<path>/train): which of the classes have no images, and the extents of
// the first image or, with `all`, of all of them, which reads every file. Lines that begin with two
// blanks. Files that are no images are passed over.
absl::StatusOr<std::string> DescribeFolder(const std::string& folder,
                                           std::span<const std::string> classes, bool all);

}  // namespace dtnn

#endif  // DTNN_APPS_CHECK_DATASET_FOLDER_FACTS_H_
