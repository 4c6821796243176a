#include "models/serving/predicted_mask.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <span>
#include <vector>

#include "data/images/mask_values.h"
#include "data/images/resize.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Pixels = std::vector<uint8_t>;

Image NewMask(int64_t height, int64_t width) {
  return {.extents = {height, width, 1},
          .pixels = Pixels(size_t(height * width), kMaskWithoutClass)};
}

Image Resized(const Image& mask, int64_t height, int64_t width) {
  const auto& [from_height, from_width, channels] = mask.extents;
  Image result = NewMask(height, width);
  ResizeNearest(std::span<const uint8_t>(mask.pixels), mask.extents,
                {0, 0, from_height, from_width}, height, width, std::span<uint8_t>(result.pixels));
  return result;
}

// Puts `mask` into `to` with its first pixel at (top, left).
void Put(const Image& mask, int64_t top, int64_t left, Image& to) {
  const auto& [height, width, channels] = mask.extents;
  for (int64_t y = 0; y < height; ++y) {
    std::copy_n(mask.pixels.data() + y * width, width,
                to.pixels.data() + (top + y) * to.extents.width + left);
  }
}

// The likeliest class of each pixel, the first of equal ones.
template <typename T>
absl::StatusOr<Image> Likeliest(const T* outputs, const ImageExtents& extents,
                                TensorFormat format) {
  const auto& [height, width, classes] = extents;
  const int64_t pixels = height * width;
  const bool planes = format == TensorFormat::kNCHW;
  const int64_t next_pixel = planes ? 1 : classes, next_class = planes ? pixels : 1;
  Image mask = NewMask(height, width);
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    const T* of_pixel = outputs + pixel * next_pixel;
    int64_t best = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const T value = of_pixel[c * next_class];
      if (!std::isfinite(value)) {
        return absl::InvalidArgumentError(
            "the network's output is NaN or infinite; are the weights, and the preprocessing of "
            "images, those of its training?");
      }
      if (value > of_pixel[best * next_class]) best = c;
    }
    mask.pixels[size_t(pixel)] = uint8_t(best);
  }
  return mask;
}

}  // namespace

absl::Status CheckPredictsMasks(const Predictor& predictor) {
  const Graph& graph = predictor.model().graph;
  const std::string_view last = graph.nodes().back().layer->type_name();
  if (graph.output_shape().rank() != 3 || last != "Softmax") {
    return InvalidArgument("network ", graph.name(),
                           " gives no class for each pixel; its output is ",
                           graph.output_shape().ToString(), " and its last layer ", last,
                           ", expected an image and Softmax");
  }
  const int64_t classes = ExtentsOf(graph.output_shape(), graph.format()).channels;
  if (classes > kMaskWithoutClass) {
    return InvalidArgument("network ", graph.name(), " has ", classes,
                           " classes, but masks have values for ", int{kMaskWithoutClass}, " only");
  }
  return predictor.images().status();
}

absl::StatusOr<Image> PredictedMask(const Predictor& predictor, const Tensor& outputs, int64_t row,
                                    const ImageExtents& extents) {
  const Graph& graph = predictor.model().graph;
  const ImageExtents output = ExtentsOf(graph.output_shape(), graph.format());
  DTNN_ASSIGN_OR_RETURN(const ImageInput* const input, predictor.images());
  const ImageInput::Placement placement = input->PlacementOf(extents);
  try {
    DTNN_ASSIGN_OR_RETURN(const Image classes, DispatchFloating(outputs.dtype(), [&](auto zero) {
                            using T = decltype(zero);
                            return Likeliest(
                                outputs.data<T>() + row * graph.output_shape().NumElements(),
                                output, graph.format());
                          }));
    Image shown = NewMask(placement.height, placement.width);
    const Window& middle = placement.middle;
    Put(Resized(classes, middle.height, middle.width), middle.top, middle.left, shown);
    Image mask = NewMask(extents.height, extents.width);
    const Window& window = placement.window;
    Put(Resized(shown, window.height, window.width), window.top, window.left, mask);
    return mask;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory for its mask");
  }
}

}  // namespace dtnn
