// Changes brightness, then contrast, then saturation of images of byte / 255. Each factor is
// uniform in [max(0, 1 - strength), 1 + strength] (numbers 0 to 2), and after each values are held
// to [0, 1]:
//
//   brightness   x = f x
//   contrast     x = f x + (1 - f) m    m: the mean grey of the image
//   saturation   x = f x + (1 - f) g    g: the grey of the pixel; needs three channels
//
// Grey is 0.299 red + 0.587 green + 0.114 blue, or the one channel.

#ifndef DTNN_DATA_TRANSFORMS_COLOR_JITTER_H_
#define DTNN_DATA_TRANSFORMS_COLOR_JITTER_H_

#include <memory>

#include "data/transforms/transform.h"

namespace dtnn {

// Strengths; 0 changes nothing.
struct ColorJitterOptions {
  double brightness = 0.4;
  double contrast = 0.4;
  double saturation = 0.4;  // without effect on images of one channel
};

std::shared_ptr<const Transform> ColorJitter(const ColorJitterOptions& options = {});
const TransformKind& ColorJitterKind();  // "color_jitter"

// Factors; 1 changes nothing.
struct ColorFactors {
  double brightness = 1, contrast = 1, saturation = 1;
};
template <typename T>
void AdjustColors(const ColorFactors& factors, const SampleImage<T>& image);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_COLOR_JITTER_H_
