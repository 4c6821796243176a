// The optimizer's pass over an arena: parameters, gradients and slots are read and written once.
//
// All tensors are dense, rank 1 and of one length. t is the step, from 1. eps is inside the root
// and decay is decoupled from the moments, as in the original system:
//
//   sgd       v = momentum*v + g;   w -= lr * (decay*w + v)
//   nesterov  v = momentum*v + g;   w -= lr * (decay*w + g + momentum*v)
//   adam      m = b1*m + (1-b1)*g;  v = b2*v + (1-b2)*g^2
//             w -= lr * (decay*w + (m/(1-b1^t)) / sqrt(v/(1-b2^t) + eps))      (Kingma & Ba, 2015)

#ifndef DTNN_KERNELS_UPDATE_UPDATE_H_
#define DTNN_KERNELS_UPDATE_UPDATE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class UpdateRule : uint8_t { kSgd, kAdam };

struct UpdateSpec {
  UpdateRule rule = UpdateRule::kSgd;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.99, beta2 = 0.999, epsilon = 1e-7;
  double decay = 0;
  DType dtype = DType::kFloat32;

  // Slots that the rule keeps per parameter: 1 for sgd (0 without momentum), 2 for adam.
  int slots() const;
};

class Update {
 public:
  virtual ~Update() = default;
  // `slots` has spec.slots() tensors, zero before step 1.
  virtual absl::Status Run(const Tensor& parameters, const Tensor& gradients,
                           std::span<const Tensor> slots, double learning_rate, int64_t step) = 0;
};

absl::StatusOr<std::unique_ptr<Update>> CreateUpdate(DeviceContext& context,
                                                     const UpdateSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_UPDATE_H_
