// The image files that a user named, directly or by the folders that hold them.

#ifndef DTNN_APPS_PROGRAM_IMAGE_PATHS_H_
#define DTNN_APPS_PROGRAM_IMAGE_PATHS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/images/image_files.h"

namespace dtnn {

// In the order given; those of a folder, at any depth, sorted. Files in a
// folder that are not images are counted in `skipped`. A file that was named itself stays, even if
// it is not an image or does not exist: the error comes when it is read.
absl::StatusOr<std::vector<std::string>> ExpandImagePaths(std::span<const std::string> paths,
                                                          SkippedFiles& skipped);

// The names of classes: the lines of a file (data/datasets/class_list.h), or the folders in
// `path`/train or else in `path`, sorted, as data sets of folders number them.
absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_IMAGE_PATHS_H_
