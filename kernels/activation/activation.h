// Elementwise activations of spec'd kind and their gradients. y may be x, and dx may be dy.
//
// The gradient is computed from the output y alone:
//
//   relu         y = max(0, x)                  dx = dy where y > 0
//   sigmoid      y = 1 / (1 + e^-x)             dx = dy * y * (1 - y)
//   tanh         y = tanh x                     dx = dy * (1 - y^2)
//   leaky_relu   y = x where x > 0, else k x    dx = dy where y > 0, else k dy; k = slope
//   relu6        y = min(max(0, x), 6)          dx = dy where 0 < y < 6
//   arctanh      y = artanh x                   dx = dy * cosh(y)^2, which is dy / (1 - x^2)
//   log          y = log(sigmoid x)             dx = dy * (1 - e^y), which is dy * (1 - sigmoid x)
//   hard_sigmoid y = min(max(0, x + 3), 6) / 6  dx = dy / 6 where 0 < y < 1
//   elu          y = x where x > 0, else        dx = dy where y > 0, else dy * (y + alpha)
//                    alpha * (e^x - 1)
//   clip         y = min(max(low, x), high)     dx = dy where low < y < high
//   softplus     y = log(1 + e^x)               dx = dy * (1 - e^-y), which is dy * sigmoid x
//
// or, since the same y comes from several x, from the input x alone (GradientReadsInput):
//
//   silu         y = x * sigmoid x              dx = dy * s * (1 + x * (1 - s)), s = sigmoid x
//   gelu         y = x * P(x)                   dx = dy * (P(x) + x * e^(-x^2/2) / sqrt(2 pi))
//   hard_swish   y = x * hard_sigmoid x         dx = dy * (2 x + 3) / 6 where -3 < x < 3, else
//                                               0 below and dy above
//   mish         y = x * t,                     dx = dy * (t + x * (1 - t^2) * sigmoid x)
//                    t = tanh(softplus x)
//
// with P the normal distribution, P(x) = (1 + erf(x / sqrt 2)) / 2: PyTorch's gelu, not its
// approximation by tanh. All from hard_sigmoid on are those of PyTorch.
//
// A NaN in an operand comes out as NaN. artanh is infinite at 1 and -1 and NaN beyond; silu, gelu,
// hard_swish and mish of -infinity are NaN, as a product of 0 and infinity is.

#ifndef DTNN_KERNELS_ACTIVATION_ACTIVATION_H_
#define DTNN_KERNELS_ACTIVATION_ACTIVATION_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class ActivationKind : uint8_t {
  kRelu,
  kSigmoid,
  kTanh,
  kLeakyRelu,
  kRelu6,
  kArctanh,
  kLog,
  kHardSigmoid,
  kSilu,
  kGelu,
  kHardSwish,
  kElu,
  kClip,
  kSoftplus,
  kMish
};
inline constexpr ActivationKind kActivationKinds[] = {
    ActivationKind::kRelu,      ActivationKind::kSigmoid,     ActivationKind::kTanh,
    ActivationKind::kLeakyRelu, ActivationKind::kRelu6,       ActivationKind::kArctanh,
    ActivationKind::kLog,       ActivationKind::kHardSigmoid, ActivationKind::kSilu,
    ActivationKind::kGelu,      ActivationKind::kHardSwish,   ActivationKind::kElu,
    ActivationKind::kClip,      ActivationKind::kSoftplus,    ActivationKind::kMish};

// Whether Backward takes the input x instead of the output y.
constexpr bool GradientReadsInput(ActivationKind kind) {
  return kind == ActivationKind::kSilu || kind == ActivationKind::kGelu ||
         kind == ActivationKind::kHardSwish || kind == ActivationKind::kMish;
}

std::string_view Name(ActivationKind kind);  // "relu", "leaky_relu", ..., as in the table above

// The numbers of the kinds that have any, with PyTorch's values. Neither slope nor alpha is
// negative, so that the gradient can tell from y where x was; low <= high. All are finite: a side
// that does not clip has the largest float.
struct ActivationNumbers {
  double slope = 0.01;        // of leaky_relu
  double alpha = 1;           // of elu
  double low = -1, high = 1;  // of clip
  friend bool operator==(const ActivationNumbers&, const ActivationNumbers&) = default;
};

// InvalidArgument for numbers that the kind cannot have: "slope is -1, expected a number from 0
// on".
absl::Status CheckNumbers(ActivationKind kind, const ActivationNumbers& numbers);

struct ActivationSpec {
  ActivationKind kind = ActivationKind::kRelu;
  TensorFormat format = TensorFormat::kNHWC;  // tells what a pitch means
  DType dtype = DType::kFloat32;
  ActivationNumbers numbers = {};
};

class Activation {
 public:
  virtual ~Activation() = default;
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  // dx = (accumulate ? dx : 0) + gradient; dx may be dy unless accumulating. `point` is y, or x
  // where GradientReadsInput.
  virtual absl::Status Backward(const Tensor& point, const Tensor& dy, const Tensor& dx,
                                bool accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<Activation>> CreateActivation(DeviceContext& context,
                                                             const ActivationSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ACTIVATION_ACTIVATION_H_
