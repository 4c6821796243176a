// A relu whose slope below 0 is learned, for each channel or one for all (He et al., "Delving Deep
// into Rectifiers", 2015), and its gradients:
//
//   Forward         y = x where x > 0, else slopes[c] * x                           y may be x
//   Backward        dx = (accumulate ? dx : 0) + (dy where x > 0, else slopes[c] * dy)
//                   dx may be dy unless accumulating
//   SlopeGradient   dslopes[c] = sum over all else of min(x, 0) * dy                overwrites dy
//
// Activations are images or matrices, pitched or, where there is one slope for all, dense; slopes
// and their gradient are vectors of float32 or float64. The terms of a sum are rounded to the type
// of dy, in whose memory they stand, and added in an order that does not depend on the number of
// threads. A NaN in an operand comes out as NaN.

#ifndef DTNN_KERNELS_PRELU_PRELU_H_
#define DTNN_KERNELS_PRELU_PRELU_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct PReluSpec {
  int64_t channels = 1;  // 1: one slope for all elements, however many channels there are
  TensorFormat format = TensorFormat::kNHWC;  // of rank-4 tensors; rank 2: columns
  DType dtype = DType::kFloat32;
};

class PRelu {
 public:
  virtual ~PRelu() = default;
  virtual absl::Status Forward(const Tensor& x, const Tensor& slopes, const Tensor& y) = 0;
  virtual absl::Status Backward(const Tensor& x, const Tensor& slopes, const Tensor& dy,
                                const Tensor& dx, bool accumulate) = 0;
  virtual absl::Status SlopeGradient(const Tensor& x, const Tensor& dy, const Tensor& dslopes) = 0;
};

absl::StatusOr<std::unique_ptr<PRelu>> CreatePRelu(DeviceContext& context, const PReluSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PRELU_PRELU_H_
