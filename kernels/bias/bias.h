// Adding a bias per channel (or per column of a matrix) where no epilogue does it, and its
// gradient:
//
//   Forward    y[..., c] = x[..., c] + b[c]          y may be x
//   Backward   db[c] = (accumulate ? db[c] : 0) + sum over all else of dy[..., c]
//
// The gradient's order of summation does not depend on the number of threads.

#ifndef DTNN_KERNELS_BIAS_BIAS_H_
#define DTNN_KERNELS_BIAS_BIAS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct BiasSpec {
  int64_t channels = 0;
  TensorFormat format = TensorFormat::kNHWC;  // of rank-4 tensors; rank 2: columns
  DType dtype = DType::kFloat32;
};

class Bias {
 public:
  virtual ~Bias() = default;
  virtual absl::Status Forward(const Tensor& x, const Tensor& bias, const Tensor& y) = 0;
  virtual absl::Status Backward(const Tensor& dy, const Tensor& dbias, bool accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<Bias>> CreateBias(DeviceContext& context, const BiasSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BIAS_BIAS_H_
