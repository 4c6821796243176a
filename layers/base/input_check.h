// What layers say when their inputs have the wrong shape.

#ifndef DTNN_LAYERS_BASE_INPUT_CHECK_H_
#define DTNN_LAYERS_BASE_INPUT_CHECK_H_

#include <span>

#include "absl/status/status.h"
#include "tensor/shape.h"

namespace dtnn {

// Exactly one input, of any shape / an image (rank 3) / a vector (rank 1).
absl::Status ExpectOneInput(std::span<const Shape> inputs);
absl::Status ExpectOneImage(std::span<const Shape> inputs);
absl::Status ExpectOneVector(std::span<const Shape> inputs);

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_INPUT_CHECK_H_
