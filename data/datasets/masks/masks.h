// Images and, for each, a mask with the class of every pixel:
//
//   <path>/train/images/.../<name>      <path>/train/masks/.../<name>.png
//   <path>/test/images/.../<name>       <path>/test/masks/.../<name>.png     <path>/classes.txt
//
// Where there is no folder test, val (or valid, or validation) holds the test split, with a
// warning. Images are JPEG or PNG files at any depth, RGB as samples; the mask of an image has its
// path below masks, but for the ending, and its height and width. A mask is a PNG of one channel of
// up to 8 bits, grey or with a palette, and the values that it stores are classes, from 0; 255 says
// that a pixel has none. A mask is cropped and resized as its image is, by the nearest pixel.
//
// classes.txt names the classes, one per line (class_list.h). Without it there are as many classes
// as the largest value in all masks says, so opening reads and decodes all masks, with all threads.
// The rest is as in folder.h: images and masks are read when they are needed (image_dataset.h).

#ifndef DTNN_DATA_DATASETS_MASKS_MASKS_H_
#define DTNN_DATA_DATASETS_MASKS_MASKS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/images/resize.h"

namespace dtnn {

struct MasksOptions {
  // Folders that hold train and test, usually the same one, and classes.txt (of two folders the
  // first). A split with an empty name is not read.
  std::string train = {}, test = {};
  Geometry geometry = {};
  bool skip_damaged = false;  // images and masks; image_dataset.h
};

// Lists the files. NotFound without such folders, without images in them, and for an image without
// a mask. InvalidArgument for two images or two masks of one name, and, where all masks are read,
// for those that hold no class. When a sample is read: InvalidArgument for a mask of other extents
// than its image, with a class that classes.txt does not name, or in colour; DataLoss for a damaged
// one.
absl::StatusOr<std::unique_ptr<Dataset>> OpenMasks(const MasksOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_MASKS_MASKS_H_
