// Which images of a folder have which mask: an image and its mask have the same path, below images
// and below masks, but for the ending.

#ifndef DTNN_DATA_DATASETS_MASKS_MASK_FILES_H_
#define DTNN_DATA_DATASETS_MASKS_MASK_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/files/name_list.h"
#include "data/images/image_files.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

struct MaskFiles {
  std::string images, masks;                   // folders
  NameList image_names = {}, mask_names = {};  // relative to these; mask i is that of image i

  int64_t size() const { return image_names.size(); }
  std::string Image(int64_t index) const { return StrCat(images, "/", image_names[index]); }
  std::string Mask(int64_t index) const { return StrCat(masks, "/", mask_names[index]); }
};

// Files that no sample is made of.
struct UnusedFiles {
  SkippedFiles others;  // neither JPEG nor PNG
  int64_t masks = 0;    // masks without an image
  std::string first;    // of these

  std::vector<std::string> Warnings() const;
};

// Lists <folder>/images and <folder>/masks, in the order of names, and adds to `unused`. Errors are
// those of masks.h.
absl::StatusOr<MaskFiles> ListMaskFiles(const std::string& folder, UnusedFiles& unused);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_MASKS_MASK_FILES_H_
