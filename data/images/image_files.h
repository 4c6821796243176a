// The images below a folder, told from what else gathers there (Thumbs.db, notes, lists).
//
// A file is an image by its name (.jpg, .jpeg, .png, in any case) or, with another name or none, by
// its first bytes. So a damaged image.jpg stays one, to be named when it is read.

#ifndef DTNN_DATA_IMAGES_IMAGE_FILES_H_
#define DTNN_DATA_IMAGES_IMAGE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Paths relative to the folder, sorted.
struct ImageFiles {
  std::vector<std::string> images, others;
};

// At any depth, as FilesBelow lists them. Opens every file whose name does not tell, with all
// threads. Errors of folder_listing.h.
absl::StatusOr<ImageFiles> ImageFilesBelow(const std::string& folder);

// Files that are skipped, for one warning.
struct SkippedFiles {
  int64_t count = 0;
  std::string first;  // path

  void Add(const std::string& folder, const ImageFiles& files);
  // "a/Thumbs.db and 2 other files are not JPEG or PNG images and are skipped"; empty without any.
  std::string Describe() const;
};

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_IMAGE_FILES_H_
