// Images sorted into a folder per class:
//
//   <path>/train/<class>/.../<file>     <path>/test/<class>/.../<file>
//
// Where there is no folder test, val (or valid, or validation) holds the test split, with a
// warning. The classes are the names of the folders in train (in test where there is no train), in
// byte order. Below a class all images count, at any depth, but for hidden names
// (folder_listing.h); other files are skipped with one warning (image_files.h). Files are JPEG or
// PNG by content; their order is that of class and name. Samples are RGB.
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
  bool skip_damaged = false;  // image_dataset.h
};

// Where a split is below `path`: the first of the names above that exists, else train or test.
absl::StatusOr<std::string> FolderOfSplit(const std::string& path, Split split);

// A warning where `test`, which FolderOfSplit has found below `path`, has another name; else empty.
std::string TestFolderWarning(const std::string& path, const std::string& test);

// Lists the files. NotFound without such folders or images in them; InvalidArgument for a class of
// the test split that the training split does not have, and for a file that counts in two classes
// of a split, through a link. Images are decoded when they are read: one that is damaged, or of
// other extents where nothing is resized, is an error then, and named. With skip_damaged, opening
// decodes all of them, and damaged ones are left out with a warning.
absl::StatusOr<std::unique_ptr<Dataset>> OpenFolder(const FolderOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_FOLDER_H_
