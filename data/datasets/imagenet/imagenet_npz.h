// ImageNet as 1024 .npz files of preprocessed images, and 128 or so for validation, as
// //apps:convert_imagenet writes them:
//
//   x  uint8 (n, 3, 227, 227), red, green, blue      y  int16 (n, 1), classes 1 to 1000
//
// Files may differ in n. For a path P, the training split is all of P/train/*.npz, else of
// P/train-*.npz, else of P/*.npz; the test split all of P/test/*.npz, P/validation/*.npz,
// P/val/*.npz, else of P/test-*.npz, P/validation-*.npz, else of P/*.npz that is not named train-*;
// sorted by name. A file that would be of both splits is refused, and so are files whose names say
// that others are missing, or that they are of two conversions (shard_names.h).
//
// Samples are rows and columns 1 to 224 (or all 227) in the order blue, green, red, with the
// means 103.939, 116.779, 123.68 subtracted, not divided by 255: what networks that were trained in
// Caffe's way expect.
//
// Of the images they are the middle square, by kImagenetShardGeometry.
//
// Only the labels are read at once. A file is decoded as a whole, 190 MB for 1251 images, and kept
// up to a budget; groups() makes the sampler read every file once per epoch.

#ifndef DTNN_DATA_DATASETS_IMAGENET_IMAGENET_NPZ_H_
#define DTNN_DATA_DATASETS_IMAGENET_IMAGENET_NPZ_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/images/resize.h"

namespace dtnn {

inline constexpr int64_t kImagenetClasses = 1000;
inline constexpr int64_t kImagenetShardSide = 227;
// What the files have of ImageNet's images: what resizing the shorter side to 256 and cropping the
// centre gives, without rounding twice.
inline constexpr Geometry kImagenetShardGeometry = {
    .square = true, .crop = 227.0 / 256, .resize = kImagenetShardSide};

struct ImagenetNpzOptions {
  std::string train = {}, test = {};  // P above; a split with an empty name is not read
  bool one_place = false;  // both splits lie in one folder, also where only one of them is opened
  bool whole = false;      // 227 x 227 instead of 224 x 224
  int64_t cache_bytes = int64_t{1} << 30;
};

// NotFound where there are no such files; InvalidArgument and DataLoss name the file, what it holds
// and what was expected: now for labels, in Read for images.
absl::StatusOr<std::unique_ptr<Dataset>> OpenImagenetNpz(const ImagenetNpzOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_IMAGENET_NPZ_H_
