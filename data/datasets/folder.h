// Images sorted into a folder per class:
//
//   <path>/train/<class>/.../<file>     <path>/test/<class>/.../<file>
//
// The classes are the names of the folders in train (in test where there is no train), in byte
// order. Below a class all images count, at any depth, but for names that begin with a dot; what is
// no image is skipped with one warning (image_files.h). Files are JPEG or PNG by content; their
// order is that of class and name. Samples are RGB.
//
// Only names are kept in memory (about 50 bytes per file): the images are read in Read, see
// image_dataset.h.

#ifndef DTNN_DATA_DATASETS_FOLDER_H_
#define DTNN_DATA_DATASETS_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/images/resize.h"

namespace dtnn {

struct FolderOptions {
  // Folders that hold train and test, usually the same one. A split with an empty name is not read.
  std::string train = {}, test = {};
  Geometry geometry = {};
};

// Lists the files. NotFound without such folders or images in them; InvalidArgument for a class of
// the test split that the training split does not have. Images are decoded when they are read: one
// that is damaged, or of other extents where nothing is resized, is an error then, and named.
absl::StatusOr<std::unique_ptr<Dataset>> OpenFolder(const FolderOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_FOLDER_H_
