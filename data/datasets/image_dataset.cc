#include "data/datasets/image_dataset.h"

#include <cmath>
#include <cstddef>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/convert/convert.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

std::string Sides(const ImageExtents& extents) {
  return absl::StrCat(extents.width, " x ", extents.height);
}

// (height, width, channels) bytes to values byte / 255; `planes` is scratch memory.
template <typename T>
void Convert(const Image& image, TensorFormat format, std::vector<uint8_t>& planes, T* to) {
  const size_t channels = size_t(image.extents.channels), count = image.pixels.size();
  if (format == TensorFormat::kNHWC || channels == 1) {
    ConvertBytes(image.pixels, T(1) / 255, {to, count});
    return;
  }
  planes.resize(count);
  const size_t pixels = count / channels;
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    for (size_t c = 0; c < channels; ++c) {
      planes[c * pixels + pixel] = image.pixels[pixel * channels + c];
    }
  }
  ConvertBytes(planes, T(1) / 255, {to, count});
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
    decoding_.shortest_side = int64_t(std::ceil(2.0 * double(geometry_.resize) / geometry_.crop));
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
    return absl::ResourceExhaustedError(absl::StrCat(name, ": no memory to read it"));
  }
}

absl::Status ImageDataset::Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                                const Tensor& x, const Tensor& targets) const {
  DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
  const int64_t elements = SampleShape(sample_, format).NumElements();
  std::vector<uint8_t> planes;
  for (int64_t row = 0; row < int64_t(indices.size()); ++row) {
    const int64_t index = indices[size_t(row)];
    DTNN_ASSIGN_OR_RETURN(const Image image, ReadImage(split, index));
    if (image.extents != sample_) {
      const Split first = size(Split::kTrain) > 0 ? Split::kTrain : Split::kTest;
      return absl::InvalidArgumentError(
          absl::StrCat(FileName(split, index), ": has ", Sides(image.extents),
                       " pixels, but the first image, ", FileName(first, 0), ", has ",
                       Sides(sample_), "; images of different sizes need --transform-resize"));
    }
    DispatchFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      Convert(image, format, planes, x.data<T>() + row * elements);
    });
    WriteTarget(split, index, row, targets);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
