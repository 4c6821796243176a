// ImageNet's 2012 challenge as its archives come, in a folder P:
//
//   P/ILSVRC2012_img_train.tar      an inner .tar of JPEG files per class, n01440764.tar, ...
//   P/ILSVRC2012_img_val.tar        50000 JPEG files, ILSVRC2012_val_00000001.JPEG, ...
//   P/ILSVRC2012_devkit_t12.tar.gz  names and numbers of the classes, and the classes of the
//                                   validation images (imagenet_synsets.h); also unpacked
//
// The test split are the validation images: the challenge's own test images have no public labels.
// Nothing is unpacked to disk: opening finds where each image lies (a header per image, so minutes
// for the whole training archive on a hard disk, seconds on a solid-state one, and 70 MB of
// memory), Read reads it there. Without the kit the training split alone can be used.
//
// Images differ in size, so they are resized. Samples are RGB; classes are numbered from 0 in the
// order of their names.

#ifndef DTNN_DATA_DATASETS_IMAGENET_IMAGENET_TAR_H_
#define DTNN_DATA_DATASETS_IMAGENET_IMAGENET_TAR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/images/resize.h"

namespace dtnn {

struct ImagenetTarOptions {
  std::string train = {}, test = {};  // P above; a split with an empty name is not read
  Geometry geometry = {};             // with a resize
  bool skip_damaged = false;          // image_dataset.h
};

// NotFound for missing archives, with where to get them; InvalidArgument without a resize, for
// archives and classes that do not belong together.
absl::StatusOr<std::unique_ptr<Dataset>> OpenImagenetTar(const ImagenetTarOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_IMAGENET_TAR_H_
