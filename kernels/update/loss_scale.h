// Dynamic loss scaling, for gradients in float16: the loss's gradient is multiplied by a scale, so
// that small gradients do not vanish, and the update divides by it. Where a gradient has become NaN
// or infinite, the update is skipped and the scale halved; after 2000 good steps in a row it is
// doubled (Micikevicius et al., "Mixed precision training", 2018). All of it happens on the device.
//
//   loss->Run(..., {gradient_scale, scale->scale()})
//   sum_of_squares->Queue(gradients, squares)   after the exchange: all ranks judge alike
//   scale->Judge(squares, closed)
//   update->Run(w, g, slots, scale->gates())
//
// The scale is a power of two: it changes the range of numbers, not their digits.

#ifndef DTNN_KERNELS_UPDATE_LOSS_SCALE_H_
#define DTNN_KERNELS_UPDATE_LOSS_SCALE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/update/loss_scale_state.h"
#include "kernels/update/update.h"
#include "tensor/tensor.h"

namespace dtnn {

class LossScale {
 public:
  using State = LossScaleState;

  // Unimplemented on a CPU, which does not compute in float16.
  static absl::StatusOr<std::unique_ptr<LossScale>> Create(DeviceContext& context);
  virtual ~LossScale() = default;

  // One float32 of the device.
  const Tensor& scale() const { return scale_; }

  // Decides about the update whose scaled gradients have this sum of squares (one float64, from
  // here on that of the gradients themselves). `closed`: why else it should not happen (gate.h);
  // empty: nothing.
  virtual absl::Status Judge(const Tensor& squares, const Tensor& closed) = 0;
  // Also multiplies the gradients of that update by a float64 of the device.
  virtual absl::Status Shorten(const Tensor& factor) = 0;
  const UpdateGates& gates() const { return gates_; }

  // For checkpoints; both wait for the device. InvalidArgument for what no scale comes to be.
  absl::StatusOr<State> Read();
  absl::Status Write(const State& state);

 protected:
  explicit LossScale(DeviceContext& context) : context_(&context) {}

  DeviceContext* context_;
  Tensor scale_, good_steps_;
  UpdateGates gates_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_LOSS_SCALE_H_
