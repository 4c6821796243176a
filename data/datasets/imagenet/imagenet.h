// ImageNet in whichever form a folder holds it: the original archives (imagenet_tar.h) where one of
// them is there, else .npz files of preprocessed images (imagenet_npz.h). Both splits have the same
// form.

#ifndef DTNN_DATA_DATASETS_IMAGENET_IMAGENET_H_
#define DTNN_DATA_DATASETS_IMAGENET_IMAGENET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/images/resize.h"

namespace dtnn {

struct ImagenetOptions {
  std::string train = {}, test = {};  // folders; a split with an empty name is not read
  bool one_place = false;  // both splits lie in one folder, also where only one of them is opened
  // The archives need a resize. With kImagenetShardGeometry, .npz files give `whole` images, which
  // are all that it would give of the archives' images.
  Geometry geometry = {};
  bool skip_damaged = false;  // in archives (image_dataset.h); InvalidArgument with .npz files
  bool whole = false;         // of .npz files: 227 x 227 instead of the middle 224 x 224
  int64_t cache_bytes = int64_t{1} << 30;  // for .npz files
};

// Errors as in those headers.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenImagenet(const ImagenetOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_IMAGENET_H_
