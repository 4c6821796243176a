// The optimizer's pass over an arena: parameters, gradients and slots are read and written once.
//
// All tensors are dense, rank 1 and of one length. g is gradient_scale times the gradient, t the
// step, from 1, h(x) = x / (1 - b^t) the bias correction with the moment's own b. Decay is
// decoupled from the moments; eps is inside the root, as in the original system, but for adamw:
//
//   sgd       v = momentum*v + g;   w -= lr * (decay*w + v)
//   nesterov  v = momentum*v + g;   w -= lr * (decay*w + g + momentum*v)
//   rmsprop   c = rho*c + (1-rho)*g^2;   w -= lr * (decay*w + g / sqrt(c + eps))
//   adam      m = b1*m + (1-b1)*g;  v = b2*v + (1-b2)*g^2
//             w -= lr * (decay*w + h(m) / sqrt(h(v) + eps))            (Kingma & Ba, 2015)
//   nadam     as adam with h(m + (1-b1)*g) in place of h(m)            (after Dozat, 2016)
//   adamw     as adam with sqrt(h(v)) + eps in place of sqrt(h(v) + eps)
//             (Loshchilov & Hutter, "Decoupled weight decay regularization", 2019)
//
// With an average_decay d, the last slot follows the parameters: e += (1 - d_t) * (w - e). So that
// the first steps do not count for long, d_t = min(d, (1 + t) / (10 + t)), as in TensorFlow's
// tf.train.ExponentialMovingAverage with num_updates.

#ifndef DTNN_KERNELS_UPDATE_UPDATE_H_
#define DTNN_KERNELS_UPDATE_UPDATE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class UpdateRule : uint8_t { kSgd, kRmsprop, kAdam, kNadam, kAdamw };

// Elements [begin, end) of an arena.
struct ArenaRange {
  int64_t begin = 0, end = 0;
  friend bool operator==(const ArenaRange&, const ArenaRange&) = default;
};

struct UpdateSpec {
  UpdateRule rule = UpdateRule::kSgd;
  double momentum = 0.9;  // [0, 1), as the betas and rho
  bool nesterov = false;
  double rho = 0.9;
  double beta1 = 0.99, beta2 = 0.999, epsilon = 1e-7;
  double decay = 0;
  double average_decay = 0;  // [0, 1); 0: no average
  // Ascending and disjoint; these elements are updated as if decay were 0. Cost is per range.
  std::vector<ArenaRange> without_decay = {};
  DType dtype = DType::kFloat32;

  // The rule's own slots per parameter: 1 for sgd (0 without momentum) and rmsprop, 2 for the
  // adams.
  int moments() const;
  bool averages() const { return average_decay > 0; }
  int slots() const { return moments() + (averages() ? 1 : 0); }
};

struct UpdateStep {
  double learning_rate = 0;
  int64_t step = 1;           // from 1
  double gradient_scale = 1;  // 1 changes no bit; clipping and accumulation scale here
};

// What is decided on the device whether and how an update happens (gate.h): each a tensor of one
// element, or empty.
struct UpdateGates {
  Tensor closed = {};  // int32; not 0: nothing changes
  Tensor factor = {};  // float64; multiplies gradient_scale
  // int64, of GPUs; steps before this one in which nothing changed, and which the bias correction
  // does not count.
  Tensor skipped = {};
};

class Update {
 public:
  virtual ~Update() = default;
  // The step of the updates from now on. On a GPU its numbers go to device memory, so an update
  // that was captured follows them; not in a capture itself.
  virtual absl::Status SetStep(const UpdateStep& step) = 0;
  // `slots` has spec.slots() tensors, before step 1 zero, and the average the parameters.
  virtual absl::Status Run(const Tensor& parameters, const Tensor& gradients,
                           std::span<const Tensor> slots, const UpdateGates& gates) = 0;
  absl::Status Run(const Tensor& parameters, const Tensor& gradients, std::span<const Tensor> slots,
                   const UpdateStep& step) {
    const absl::Status status = SetStep(step);
    return status.ok() ? Run(parameters, gradients, slots, UpdateGates()) : status;
  }
};

// InvalidArgument for constants outside their ranges.
absl::StatusOr<std::unique_ptr<Update>> CreateUpdate(DeviceContext& context,
                                                     const UpdateSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_UPDATE_H_
