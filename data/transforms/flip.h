// Mirrors images left to right, or top to bottom, with a probability. Random number 0 decides.

#ifndef DTNN_DATA_TRANSFORMS_FLIP_H_
#define DTNN_DATA_TRANSFORMS_FLIP_H_

#include <memory>

#include "data/transforms/transform.h"

namespace dtnn {

struct FlipOptions {
  double probability = 0.5;
  bool vertical = false;  // top to bottom
};

std::shared_ptr<const Transform> Flip(const FlipOptions& options = {});
const TransformKind& FlipKind();          // "flip"
const TransformKind& VerticalFlipKind();  // "vertical_flip"

template <typename T>
void FlipLeftRight(const SampleImage<T>& image);
template <typename T>
void FlipTopBottom(const SampleImage<T>& image);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_FLIP_H_
