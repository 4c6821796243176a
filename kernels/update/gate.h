// What decides on the device, without the host, whether an update happens and how long its gradient
// may be: for steps whose losses and norms the host reads later.
//
//   gate->Watch(losses)             closed where a loss is NaN or infinite, until Reset
//   gate->Clip(squares)             norm = gradient_scale * sqrt(squares),
//                                   factor = norm > limit ? limit / norm : 1
//   update->Run(w, g, slots, gate->gates())

#ifndef DTNN_KERNELS_UPDATE_GATE_H_
#define DTNN_KERNELS_UPDATE_GATE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/transfers/device_numbers.h"
#include "kernels/update/update.h"
#include "tensor/tensor.h"

namespace dtnn {

class UpdateGate {
 public:
  // `limit`: of the gradient's Euclidean norm; 0: there is none, and Clip is not called.
  static absl::StatusOr<std::unique_ptr<UpdateGate>> Create(DeviceContext& context, DType dtype,
                                                            double limit);
  virtual ~UpdateGate() = default;

  // Opens the gate. Not in a capture.
  absl::Status Reset() { return context_->FillZero(gates_.closed); }
  // The scale of the gradients that Clip is asked about from now on. Not in a capture.
  absl::Status SetGradientScale(double scale) { return scale_.Set<double>({{scale}}); }

  // Dense, of the gate's type.
  virtual absl::Status Watch(const Tensor& losses) = 0;
  // `squares`: one float64, the sum of squares of the gradients.
  virtual absl::Status Clip(const Tensor& squares) = 0;

  const UpdateGates& gates() const { return gates_; }
  // One float64; of the last Clip. Empty without a limit.
  const Tensor& norm() const { return norm_; }

 protected:
  UpdateGate(DeviceContext& context, DType dtype, double limit)
      : context_(&context), dtype_(dtype), limit_(limit) {}
  absl::Status CheckWatch(const Tensor& losses) const;
  absl::Status CheckClip(const Tensor& squares) const;

  DeviceContext* context_;
  DType dtype_;
  double limit_;
  UpdateGates gates_;
  Tensor norm_;
  DeviceNumbers scale_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_GATE_H_
