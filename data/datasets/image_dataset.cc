#include "data/datasets/image_dataset.h"

#include <cmath>
#include <cstddef>
#include <new>
#include <utility>

#include "data/images/image_bytes.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"

namespace dtnn {
namespace {

std::string Sides(const ImageExtents& extents) {
  return StrCat(extents.width, " x ", extents.height);
}

Image Transformed(Image image, const Geometry& geometry) {
  if (geometry.crop == 1 && geometry.resize == 0) return image;
  Image result = {ExtentsAfter(geometry, image.extents), {}};
  const auto& [height, width, channels] = result.extents;
  result.pixels.resize(size_t(height * width * channels));
  ResizeBilinear(image.pixels, image.extents, TensorFormat::kNHWC,
                 CentralCrop(image.extents, geometry.crop), height, width,
                 std::span<uint8_t>(result.pixels));
  return result;
}

}  // namespace

ImageDataset::ImageDataset(const Geometry& geometry, int channels, int64_t max_pixels)
    : geometry_(geometry), decoding_{.channels = channels, .max_pixels = max_pixels} {}

absl::Status ImageDataset::Init() {
  DTNN_RETURN_IF_ERROR(CheckGeometry(geometry_));
  if (geometry_.resize > 0) {
    decoding_.shortest_side = ShortestSide(geometry_, geometry_.resize);
    sample_ = {geometry_.resize, geometry_.resize, decoding_.channels};
    return absl::OkStatus();
  }
  const Split split = size(Split::kTrain) > 0 ? Split::kTrain : Split::kTest;
  DTNN_ASSIGN_OR_RETURN(const Image first, ReadImage(split, 0));
  sample_ = first.extents;
  return absl::OkStatus();
}

absl::StatusOr<Image> ImageDataset::ReadImage(Split split, int64_t index) const {
  const std::string name = FileName(split, index);
  try {
    std::vector<uint8_t> bytes;
    DTNN_RETURN_IF_ERROR(ReadEncoded(split, index, bytes));
    DTNN_ASSIGN_OR_RETURN(Image image, DecodeImage(bytes, name, decoding_));
    return Transformed(std::move(image), geometry_);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(name, ": not enough memory to read it");
  }
}

absl::Status ImageDataset::Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                                const Tensor& x, const Tensor& targets) const {
  DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
  for (int64_t row = 0; row < int64_t(indices.size()); ++row) {
    const int64_t index = indices[size_t(row)];
    DTNN_ASSIGN_OR_RETURN(const Image image, ReadImage(split, index));
    if (image.extents != sample_) {
      const Split first = size(Split::kTrain) > 0 ? Split::kTrain : Split::kTest;
      return NamingArgument(
          InvalidArgument(FileName(split, index), ": has ", Sides(image.extents),
                          " pixels, but the first image, ", FileName(first, 0), ", has ",
                          Sides(sample_), "; images of different sizes need Geometry::resize"),
          "Geometry::resize");
    }
    PutImage(image.pixels, TensorFormat::kNHWC, image.extents, format, x, row);
    WriteTarget(split, index, row, targets);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
