// Softmax over the columns of each row, and softmax fused with categorical cross entropy.
//
//   y_j = e^(x_j - max x) / sum_i e^(x_i - max x);   dx = y * (dy - sum(dy * y))
//
// Fused, for a row with class label t, clip(p) = min(max(p, 1e-8), 1 - 1e-8):
//   loss = -log clip(y_t);     dx = (y - onehot(t)) * gradient_scale
// The loss is computed from x directly (log-sum-exp), so a confident wrong answer loses no digits;
// the clip is applied to the result. gradient_scale is 1 / (samples of the step over all ranks).
// With label smoothing s (Szegedy et al., CVPR 2016) the target is t' = (1 - s) * onehot(t) + s / K
// over K columns: loss = -(1 - s) * log clip(y_t) - s / K * sum(log y), dx = (y - t') *
// gradient_scale.
//
// Where x and dx have 16 bits, everything else is float32: y, dy and losses. A softmax alone may
// have y and dy of 16 bits too, which are rounded once.

#ifndef DTNN_KERNELS_SOFTMAX_SOFTMAX_H_
#define DTNN_KERNELS_SOFTMAX_SOFTMAX_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/gradient_scale.h"
#include "tensor/tensor.h"

namespace dtnn {

struct SoftmaxSpec {
  int64_t rows = 0, columns = 0;  // rows: the most a call will bring
  DType dtype = DType::kFloat32;  // of x and dx; y, dy and losses are WideOf it
  double label_smoothing = 0;     // [0, 1); of the cross entropy
  bool narrow_result = false;     // y and dy are of dtype too; of Softmax

  DType result_dtype() const { return narrow_result ? dtype : WideOf(dtype); }
};

class Softmax {
 public:
  virtual ~Softmax() = default;
  // Rank-2 tensors; y may be x if they have one type.
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  // dx = (accumulate ? dx : 0) + gradient; dx may be dy unless accumulating,
  // if they have one type.
  virtual absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                                bool accumulate) = 0;
};

class SoftmaxCrossEntropy {
 public:
  virtual ~SoftmaxCrossEntropy() = default;
  // x: logits (rows, columns). labels: int32 (rows,), each in 0..columns-1 (checked where they are
  // read). y: probabilities; may be x. dx: empty when only the loss is wanted; may be x, not y.
  // losses: (rows,), the loss of each row.
  virtual absl::Status Run(const Tensor& x, const Tensor& labels, const Tensor& y,
                           const Tensor& losses, const Tensor& dx, const GradientScale& scale) = 0;
};

absl::StatusOr<std::unique_ptr<Softmax>> CreateSoftmax(DeviceContext& context,
                                                       const SoftmaxSpec& spec);
absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropy>> CreateSoftmaxCrossEntropy(
    DeviceContext& context, const SoftmaxSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_SOFTMAX_SOFTMAX_H_
