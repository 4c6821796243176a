// Concatenation of activations along the channels, and its gradient (a split).
//
//   Forward    y = [x_0 | x_1 | ...]: channels in the order of the inputs
//   Backward   dx_i = (accumulate ? dx_i : 0) + the channels of dy that x_i filled
//
// Inputs that already are views of y (Tensor::Channels) cost nothing and are skipped.

#ifndef DTNN_KERNELS_CONCAT_CONCAT_H_
#define DTNN_KERNELS_CONCAT_CONCAT_H_

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ConcatSpec {
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
};

class Concat {
 public:
  virtual ~Concat() = default;
  virtual absl::Status Forward(std::span<const Tensor> inputs, const Tensor& y) = 0;
  // An empty tensor among `dx` is skipped; one at most, since its channels are those that the
  // others leave. `accumulate` has an entry per dx.
  virtual absl::Status Backward(const Tensor& dy, std::span<const Tensor> dx,
                                std::span<const bool> accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<Concat>> CreateConcat(DeviceContext& context,
                                                     const ConcatSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONCAT_CONCAT_H_
