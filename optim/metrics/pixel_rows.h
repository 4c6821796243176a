// The labelled pixels of images as samples, for metrics that know samples alone.

#ifndef DTNN_OPTIM_METRICS_PIXEL_ROWS_H_
#define DTNN_OPTIM_METRICS_PIXEL_ROWS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct PixelRows {
  int64_t count = 0;            // of labelled pixels; with 0 both tensors are empty
  Tensor predictions, targets;  // (count, classes) and int32 (count,)
};

// `predictions`: dense images on the host, whose channels are classes. `targets`: int32
// (n, height, width); pixels with negative labels are left out. A view where the format allows it
// and all pixels are labelled, else a copy.
absl::StatusOr<PixelRows> LabelledPixels(const Tensor& predictions, const Tensor& targets,
                                         TensorFormat format);

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_PIXEL_ROWS_H_
