// The values of a tensor as TensorBoard's histogram: equal buckets between the smallest and the
// largest.

#ifndef DTNN_MODELS_OBSERVE_TENSORBOARD_HISTOGRAM_H_
#define DTNN_MODELS_OBSERVE_TENSORBOARD_HISTOGRAM_H_

#include <vector>

#include "tensor/tensor.h"

namespace dtnn {

inline constexpr int kHistogramBuckets = 30;

// A row per bucket: left edge, right edge, count. NaN and infinities are not counted; no rows where
// there is no finite value. Where all are equal, the last bucket has them. Dense host tensors of
// floating-point numbers.
std::vector<double> Histogram(const Tensor& values);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TENSORBOARD_HISTOGRAM_H_
