// Elementwise activations of spec'd kind and their gradients, both computed from the output y alone
// (so an activation may run in place: y may be x, and dx may be dy).
//
//   relu      y = max(0, x)            dx = dy where y > 0
//   sigmoid   y = 1 / (1 + e^-x)       dx = dy * y * (1 - y)
//   tanh      y = tanh x               dx = dy * (1 - y^2)

#ifndef DTNN_KERNELS_ACTIVATION_ACTIVATION_H_
#define DTNN_KERNELS_ACTIVATION_ACTIVATION_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class ActivationKind : uint8_t { kRelu, kSigmoid, kTanh };

std::string_view Name(ActivationKind kind);  // "relu", "sigmoid", "tanh"

struct ActivationSpec {
  ActivationKind kind = ActivationKind::kRelu;
  TensorFormat format = TensorFormat::kNHWC;  // tells what a pitch means
  DType dtype = DType::kFloat32;
};

class Activation {
 public:
  virtual ~Activation() = default;
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  // dx = (accumulate ? dx : 0) + gradient; dx may be dy unless accumulating.
  virtual absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                                bool accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<Activation>> CreateActivation(DeviceContext& context,
                                                             const ActivationSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ACTIVATION_ACTIVATION_H_
