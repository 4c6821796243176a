// What a plan checks of targets that are a class per pixel.

#ifndef DTNN_MODELS_PLAN_PIXEL_TARGETS_H_
#define DTNN_MODELS_PLAN_PIXEL_TARGETS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

// InvalidArgument unless they are int32 (n, height, width) on the host, for a network whose output
// is such images, and each label is one of its channels or kIgnoredPixel; messages name the sample
// and the pixel.
absl::Status CheckPixelTargets(const Tensor& targets, int64_t n, const ImageExtents& output);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_PIXEL_TARGETS_H_
