// The images below a folder, told from what else gathers there (Thumbs.db, notes, lists).
//
// A file is an image by its name (.jpg, .jpeg, .png, in any case) or, with another name or none, by
// its first bytes. So a damaged image.jpg stays one, to be named when it is read.

#ifndef DTNN_DATA_IMAGES_IMAGE_FILES_H_
#define DTNN_DATA_IMAGES_IMAGE_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Paths relative to the folder, sorted.
struct ImageFiles {
  struct Other {
    std::string path;
    std::string_view contents;  // "a WebP image" (known_contents.h); empty: unknown
  };
  std::vector<std::string> images;
  std::vector<Other> others;
};

// At any depth, as FilesBelow lists them; `links` as there. Opens every file whose name does not
// tell, with all threads. Errors of folder_listing.h.
absl::StatusOr<ImageFiles> ImageFilesBelow(const std::string& folder, bool* links = nullptr);

// Files that are skipped, for one warning.
struct SkippedFiles {
  struct Alike {
    int64_t count = 0;
    std::string first;  // path
  };
  std::map<std::string_view, Alike> by_contents;

  int64_t count() const;
  void Add(const std::string& folder, const ImageFiles& files);
  // "14 files are not JPEG or PNG images and are skipped: a/1.webp (a WebP image) and 11 more such,
  // Thumbs.db and 1 more"; empty without any.
  std::string Describe() const;
};

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_IMAGE_FILES_H_
