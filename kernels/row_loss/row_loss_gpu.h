// Losses of rows on a GPU: one warp per row, whose lanes take every 32nd column. The formulas, and
// the CPU's implementations, are those of optim/losses; like these, sums are in double precision.
//
//   kSquared      mean (x - t)^2
//   kAbsolute     mean |x - t|; where they are equal the gradient is 0
//   kBinary       sum of the cross entropies of the columns with (1 - smoothing) t + smoothing / 2,
//                 with a clip at 1e-8
//   kCategorical  cross entropy of the row with (1 - smoothing) t + smoothing / columns, likewise;
//                 each column's term times the weight of its class
//
// Targets are one class per row (int32), which is a one among zeros, or a row of values. From
// logits, x goes through a sigmoid (kBinary) or a softmax (kCategorical) first.

#ifndef DTNN_KERNELS_ROW_LOSS_ROW_LOSS_GPU_H_
#define DTNN_KERNELS_ROW_LOSS_ROW_LOSS_GPU_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/gradient_scale.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class RowLossKind : uint8_t { kSquared, kAbsolute, kBinary, kCategorical };

struct RowLossSpec {
  RowLossKind kind = RowLossKind::kSquared;
  int64_t columns = 0;
  DType dtype = DType::kFloat32;
  bool from_logits = false;                // of the cross entropies
  double label_smoothing = 0;              // [0, 1); of the cross entropies
  std::vector<double> class_weights = {};  // of kCategorical, one per column; none: all 1
};

class RowLoss {
 public:
  virtual ~RowLoss() = default;
  // x, and `values` of targets: (rows, columns). losses: (rows,). probabilities: written where x
  // holds logits, and may then be x; else ignored. dx: scale times the gradient of the sum of the
  // losses; empty when not wanted; may be x. x, dx and the probabilities of kBinary are of the
  // spec's type, all else WideOf it.
  virtual absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                           const Tensor& losses, const Tensor& dx, const GradientScale& scale) = 0;
};

// The device is not the CPU.
absl::StatusOr<std::unique_ptr<RowLoss>> CreateRowLossGpu(DeviceContext& context,
                                                          const RowLossSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ROW_LOSS_ROW_LOSS_GPU_H_
