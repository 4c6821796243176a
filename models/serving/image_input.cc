#include "models/serving/image_input.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "data/files/read_bytes.h"
#include "data/images/image_bytes.h"
#include "data/images/image_channels.h"
#include "data/images/resize.h"
#include "data/normalize.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

using Input = Preprocessing::Input;

ImageGeometry GeometryOf(const Preprocessing& preprocessing) {
  return preprocessing.geometry.value_or(ImageGeometry{});
}

// Images in between take no more memory than this, or than samples do.
absl::Status CheckImageGeometry(const ImageGeometry& image, const ImageExtents& sample) {
  DTNN_RETURN_IF_ERROR(CheckGeometry(image.geometry));
  DTNN_RETURN_IF_ERROR(CheckGeometry(image.then));
  const int64_t resize = image.geometry.resize;
  if (resize > std::max({kMostResized, sample.height, sample.width})) {
    return InvalidArgument("images are resized to ", resize, " x ", resize, " for a network of ",
                           sample.height, " x ", sample.width, "; at most ", kMostResized, " x ",
                           kMostResized);
  }
  if (image.side < 0 || image.side > resize) {
    return InvalidArgument("images of ", resize, " x ", resize, " have no middle of ", image.side,
                           " x ", image.side);
  }
  return absl::OkStatus();
}

// The middle of an image of `extents` that is as large as `sample`.
Window Middle(const ImageExtents& extents, const ImageExtents& sample) {
  return {.top = (extents.height - sample.height) / 2,
          .left = (extents.width - sample.width) / 2,
          .height = sample.height,
          .width = sample.width};
}

// Crops and resizes elements of an image of `extents`.
template <typename T>
std::vector<T> Place(std::span<const T> from, const ImageExtents& extents, TensorFormat format,
                     const ImageInput::Placement& placement) {
  const auto& [window, height, width, middle] = placement;
  const ImageExtents whole = {height, width, extents.channels};
  std::vector<T> resized(size_t(height * width * extents.channels));
  ResizeBilinear(from, extents, format, window, height, width, std::span<T>(resized));
  if (middle == Window{0, 0, height, width}) return resized;
  std::vector<T> to(size_t(middle.height * middle.width * extents.channels));
  ResizeBilinear(std::span<const T>(resized), whole, format, middle, middle.height, middle.width,
                 std::span<T>(to));
  return to;
}

}  // namespace

absl::StatusOr<ImageInput> ImageInput::Create(const Preprocessing& preprocessing,
                                              const ImageExtents& sample, TensorFormat format) {
  if (sample.channels != 1 && sample.channels != 3) {
    return InvalidArgument("the network takes samples of ", Counted(sample.channels, "channel"),
                           "; images have 1 or 3");
  }
  for (const Normalization& by : {preprocessing.normalization, preprocessing.then}) {
    DTNN_RETURN_IF_ERROR(CheckNormalization(by, sample.channels));
  }
  DTNN_RETURN_IF_ERROR(CheckImageGeometry(GeometryOf(preprocessing), sample));
  return ImageInput(preprocessing, sample, format);
}

ImageInput::Placement ImageInput::PlacementOf(const ImageExtents& image) const {
  const auto [geometry, of_values, side, then] = GeometryOf(preprocessing_);
  const ImageExtents whole = side > 0 ? ImageExtents{side, side, sample_.channels} : sample_;
  Placement placement = {.window = CentralCrop(geometry, image),
                         .height = geometry.resize,
                         .width = geometry.resize,
                         .middle = {}};
  if (geometry.resize < whole.height || geometry.resize < whole.width) {
    placement.height = whole.height;
    placement.width = whole.width;
  }
  const Window middle = Middle({placement.height, placement.width, whole.channels}, whole);
  const Window kept = CentralCrop(then, whole);
  placement.middle = {middle.top + kept.top, middle.left + kept.left, kept.height, kept.width};
  return placement;
}

template <typename T>
void ImageInput::Write(Image image, T* to) const {
  const ImageGeometry shown = GeometryOf(preprocessing_);
  const Placement placement = PlacementOf(image.extents);
  const bool bytes = preprocessing_.input == Input::kBgrBytes;
  const T scale = bytes ? T(1) : T(1) / 255;
  std::vector<uint8_t> pixels = std::move(image.pixels);
  const bool bgr = preprocessing_.input == Input::kBgr || bytes;
  if (bgr && sample_.channels == 3) {
    for (size_t at = 0; at < pixels.size(); at += 3) std::swap(pixels[at], pixels[at + 2]);
  }
  const ImageExtents kept = {placement.middle.height, placement.middle.width, sample_.channels};
  const std::span<T> sample(to, size_t(sample_.height * sample_.width * sample_.channels));
  std::vector<T> unsized(kept == sample_ ? 0 : size_t(kept.height * kept.width * kept.channels));
  const std::span<T> values = kept == sample_ ? sample : std::span<T>(unsized);
  if (shown.of_values) {
    std::vector<T> whole(pixels.size());
    ConvertImage(pixels, TensorFormat::kNHWC, image.extents, format_, std::span<T>(whole), scale);
    std::ranges::copy(Place(std::span<const T>(whole), image.extents, format_, placement),
                      values.begin());
  } else {
    const std::vector<uint8_t> placed =
        Place(std::span<const uint8_t>(pixels), image.extents, TensorFormat::kNHWC, placement);
    ConvertImage(placed, TensorFormat::kNHWC, kept, format_, values, scale);
  }
  Normalize(preprocessing_.normalization, kept, format_, values);
  if (kept != sample_) {
    ResizeBilinear(std::span<const T>(unsized), kept, format_, {0, 0, kept.height, kept.width},
                   sample_.height, sample_.width, sample);
  }
  Normalize(preprocessing_.then, sample_, format_, sample);
}

absl::Status ImageInput::Convert(Image image, const Tensor& x, int64_t row) const {
  DTNN_ASSIGN_OR_RETURN(image, WithChannels(std::move(image), sample_.channels));
  try {
    DispatchFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      Write(std::move(image),
            x.data<T>() + row * sample_.height * sample_.width * sample_.channels);
    });
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to resize the image");
  }
  return absl::OkStatus();
}

absl::Status ImageInput::Decode(std::span<const uint8_t> bytes, std::string_view name,
                                const Tensor& x, int64_t row, int64_t max_pixels) const {
  const Geometry geometry = GeometryOf(preprocessing_).geometry;
  // As in training, where images are resized there.
  const int64_t side =
      geometry.resize > 0 ? geometry.resize : std::max(sample_.height, sample_.width);
  DTNN_ASSIGN_OR_RETURN(Image image, DecodeImage(bytes, name,
                                                 {.channels = int(sample_.channels),
                                                  .max_pixels = max_pixels,
                                                  .shortest_side = ShortestSide(geometry, side)}));
  return WithContext(Convert(std::move(image), x, row), name);
}

absl::Status ImageInput::Read(const std::string& path, const Tensor& x, int64_t row) const {
  try {
    std::vector<uint8_t> bytes;
    DTNN_RETURN_IF_ERROR(ReadBytes(path, bytes));
    return Decode(bytes, path, x, row);
  } catch (const std::bad_alloc&) {
    return WithContext(absl::ResourceExhaustedError("not enough memory to read it"), path);
  }
}

}  // namespace dtnn
