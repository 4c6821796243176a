// Turns images about their centre by an angle that is uniform in [-degrees, degrees] (number 0).
// Bilinear; what comes from outside the image is 0.

#ifndef DTNN_DATA_TRANSFORMS_ROTATE_H_
#define DTNN_DATA_TRANSFORMS_ROTATE_H_

#include <memory>

#include "data/transforms/transform.h"

namespace dtnn {

struct RotateOptions {
  double degrees = 15;  // [0, 180]
};

std::shared_ptr<const Transform> Rotate(const RotateOptions& options = {});
const TransformKind& RotateKind();  // "rotate"

// By so many degrees counter-clockwise.
template <typename T>
void RotateImage(double degrees, const SampleImage<T>& image);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_ROTATE_H_
