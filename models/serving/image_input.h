// Images as a network takes them: decoded, cropped, resized, converted and normalised as in
// training, number for number.

#ifndef DTNN_MODELS_SERVING_IMAGE_INPUT_H_
#define DTNN_MODELS_SERVING_IMAGE_INPUT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/images/image.h"
#include "data/images/resize.h"
#include "data/preprocessing.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

class ImageInput {
 public:
  // For samples of `sample`. InvalidArgument where they have other than 1 or 3 channels, as images
  // have, or where the normalisation has another number. If the preprocessing has no geometry, or
  // gives images of another size, they are then resized to the samples' size.
  static absl::StatusOr<ImageInput> Create(const Preprocessing& preprocessing,
                                           const ImageExtents& sample, TensorFormat format);

  // The part of an image that becomes a sample: `window` of it, resized to height x width, and of
  // that `middle`, which is as large as a sample unless the data set's values were resized.
  struct Placement {
    Window window;
    int64_t height = 0, width = 0;
    Window middle;
  };
  Placement PlacementOf(const ImageExtents& image) const;

  // The file at `path`, or an image of any channels (image_channels.h), becomes sample `row` of
  // `x`, (n, sample) of a floating dtype, dense and on the host. From several threads at once.
  // Messages name the file. Decode: of the bytes of a file called `name`, of at most so many
  // pixels.
  absl::Status Read(const std::string& path, const Tensor& x, int64_t row) const;
  absl::Status Decode(std::span<const uint8_t> bytes, std::string_view name, const Tensor& x,
                      int64_t row, int64_t max_pixels = kMaxImagePixels) const;
  absl::Status Convert(Image image, const Tensor& x, int64_t row) const;

 private:
  ImageInput(const Preprocessing& preprocessing, const ImageExtents& sample, TensorFormat format)
      : preprocessing_(preprocessing), sample_(sample), format_(format) {}

  template <typename T>
  void Write(Image image, T* to) const;

  Preprocessing preprocessing_;
  ImageExtents sample_;
  TensorFormat format_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_IMAGE_INPUT_H_
