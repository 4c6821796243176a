// Writes the .npz files that imagenet_npz.h reads: images of ImageNet, decoded and brought to
// 227 x 227.
//
// Each image is decoded, cropped and resized by kImagenetShardGeometry as images of a folder are
// (image_dataset.h), and as a prediction does it (models/serving/image_input.h): same bits.

#ifndef DTNN_DATA_DATASETS_IMAGENET_IMAGENET_SHARD_H_
#define DTNN_DATA_DATASETS_IMAGENET_IMAGENET_SHARD_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/buffer.h"
#include "tensor/files/npz.h"

namespace dtnn {

// 155 kB of memory per image.
class ImagenetShard {
 public:
  // Room for this many images at first; it grows by doubling, to 100000.
  static absl::StatusOr<ImagenetShard> Create(int64_t expected_images = 1251);
  // The room after one for so many images. ResourceExhausted where that is the largest.
  static absl::StatusOr<int64_t> RoomBeyond(int64_t images);

  // Decodes a JPEG or PNG file. `label`: 1 to 1000. Errors begin with `name`.
  absl::Status Add(std::span<const uint8_t> encoded, int64_t label, std::string_view name);
  int64_t size() const { return int64_t(labels_.size()); }

  // All of the file or nothing. `source`: a text about what the images were made from.
  absl::Status Write(std::string_view path, std::string_view source,
                     NpzCompression compression = NpzCompression::kDeflated) const;

 private:
  absl::Status MakeRoom(int64_t images);

  std::shared_ptr<Buffer> images_;  // (capacity, 3, 227, 227) bytes
  std::vector<int16_t> labels_;
};

// The text that such a file was written with, empty if it has none, or why it is not such a file.
// The images are not read.
absl::StatusOr<std::string> ImagenetShardSource(std::string_view path);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_IMAGENET_SHARD_H_
