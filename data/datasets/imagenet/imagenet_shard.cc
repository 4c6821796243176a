#include "data/datasets/imagenet/imagenet_shard.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/images/image.h"
#include "data/images/resize.h"
#include "tensor/errors.h"
#include "tensor/files/npy.h"
#include "tensor/shape.h"

namespace dtnn {
namespace {

constexpr int64_t kSide = kImagenetShardSide, kPlane = kSide * kSide;
constexpr int64_t kImageBytes = 3 * kPlane;
constexpr int64_t kMaxImages = 100000;
constexpr char kSource[] = "__source__";
constexpr int64_t kMaxSourceBytes = 100000;

}  // namespace

absl::StatusOr<ImagenetShard> ImagenetShard::Create(int64_t expected_images) {
  ImagenetShard shard;
  DTNN_RETURN_IF_ERROR(shard.MakeRoom(std::clamp<int64_t>(expected_images, 1, kMaxImages)));
  return shard;
}

absl::StatusOr<int64_t> ImagenetShard::RoomBeyond(int64_t images) {
  if (images < kMaxImages) return std::min(2 * images, kMaxImages);
  return ResourceExhausted("a file of more than ", kMaxImages, " images is not supported");
}

absl::Status ImagenetShard::MakeRoom(int64_t images) {
  DTNN_ASSIGN_OR_RETURN(auto more, Buffer::Allocate(Device::Cpu(), size_t(images * kImageBytes)));
  if (size() > 0) std::memcpy(more->data(), images_->data(), size_t(size() * kImageBytes));
  images_ = std::move(more);
  return absl::OkStatus();
}

absl::Status ImagenetShard::Add(std::span<const uint8_t> encoded, int64_t label,
                                std::string_view name) {
  if (label < 1 || label > kImagenetClasses) {
    return InvalidArgument(name, ": its class is ", label, ", expected 1 to ", kImagenetClasses);
  }
  const int64_t capacity = int64_t(images_->size()) / kImageBytes;
  if (size() == capacity) {
    DTNN_ASSIGN_OR_RETURN(const int64_t more, RoomBeyond(capacity));
    DTNN_RETURN_IF_ERROR(MakeRoom(more));
  }
  const ImageOptions options = {.shortest_side = ShortestSide(kImagenetShardGeometry, kSide)};
  DTNN_ASSIGN_OR_RETURN(const Image image, DecodeImage(encoded, name, options));
  std::vector<uint8_t> pixels(kImageBytes);
  ResizeBilinear(image.pixels, image.extents, TensorFormat::kNHWC,
                 CentralCrop(kImagenetShardGeometry, image.extents), kSide, kSide,
                 std::span<uint8_t>(pixels));
  uint8_t* to = reinterpret_cast<uint8_t*>(images_->data()) + size() * kImageBytes;
  for (int64_t pixel = 0; pixel < kPlane; ++pixel) {
    for (int64_t c = 0; c < 3; ++c) to[c * kPlane + pixel] = pixels[size_t(3 * pixel + c)];
  }
  labels_.push_back(int16_t(label));
  return absl::OkStatus();
}

absl::Status ImagenetShard::Write(std::string_view path, std::string_view source,
                                  NpzCompression compression) const {
  const Tensor x = Tensor::View(images_, 0, DType::kUint8, Shape{size(), 3, kSide, kSide});
  return WriteNpz(path, {{"x", x}}, compression, {{kSource, std::string(source)}},
                  {{"y", SerializeNpyInt16(labels_, Shape{size(), 1})}});
}

absl::StatusOr<std::string> ImagenetShardSource(std::string_view path) {
  DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(path));
  if (!reader.Contains("x") || !reader.Contains("y")) {
    return InvalidArgument(path, ": is not a file of ImageNet's images");
  }
  if (!reader.Contains(kSource)) return std::string();
  if (reader.Bytes(kSource) > kMaxSourceBytes) {
    return InvalidArgument(path, ": its text ", kSource, " is too long");
  }
  return reader.ReadText(kSource);
}

}  // namespace dtnn
