// What training minimises. A Loss is a description; bound to a device, batch and dtype it computes
// the loss of every sample and the gradient with respect to the network's output.
//
// Targets are one class per sample, int32 (n,), or `outputs` values per sample, (n, outputs) of the
// network's dtype: several labels that are 0 or 1, or quantities. A network whose output is an
// image has a class per pixel, int32 (n, height, width); kIgnoredPixel counts for nothing.
//
// A loss may take over the activation before it: computed together from the logits, the result is
// the same in exact arithmetic and keeps the digits that a rounded probability has lost.

#ifndef DTNN_OPTIM_LOSSES_LOSS_H_
#define DTNN_OPTIM_LOSSES_LOSS_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/gradient_scale.h"
#include "optim/losses/better.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

// The label of a pixel that has none.
inline constexpr int32_t kIgnoredPixel = -1;

// The network's last layer, as far as losses are concerned; kOther: none, or another one.
enum class FinalActivation : uint8_t { kOther, kSoftmax, kSigmoid };

class LossOp {
 public:
  virtual ~LossOp() = default;
  // For targets on the host, of a kind that the loss takes, with valid classes and shapes (the
  // caller has checked): InvalidArgument for values that the loss is not defined for.
  virtual absl::Status CheckTargets(const Tensor& /*targets*/) const { return absl::OkStatus(); }
  // x: (n, outputs), or images of as many channels, logits or probabilities as bound. targets: the
  // same ones as CheckTargets has accepted, on the device. losses: (n,). probabilities: written
  // when bound to logits (may be x); ignored otherwise. dx: scale * d(sum of losses)/dx, or empty
  // when not wanted; may be x. x and dx have the type that it is bound to, losses, targets that are
  // values and probabilities WideOf it; those of a sigmoid have that of x.
  virtual absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                           const Tensor& losses, const Tensor& dx, const GradientScale& scale) = 0;
};

struct LossContext {
  DeviceContext* device = nullptr;
  int64_t batch = 0, outputs = 0;
  DType dtype = DType::kFloat32;
  bool from_logits = false;
  // The output of a network, if that is an image, whose channels are the outputs. Without pixels: a
  // vector.
  ImageExtents image = {};
  TensorFormat format = TensorFormat::kNHWC;
};

class Loss {
 public:
  virtual ~Loss() = default;
  virtual std::string_view name() const = 0;   // "categorical_cross_entropy"
  virtual std::string_view label() const = 0;  // "cce", in progress lines
  Better better() const { return Better::kSmaller; }
  // The kinds of targets that the loss is defined for.
  virtual bool TakesClasses() const = 0;
  virtual bool TakesValues() const = 0;
  // Whether it takes rows of probabilities, one per class, in place of classes (mixup): any that
  // takes values does.
  virtual bool TakesDistributions() const { return TakesValues(); }
  // Whether it takes a class per pixel, of networks whose output is an image.
  virtual bool TakesPixels() const { return false; }
  // The activation that it takes over when bound with from_logits; kOther where there is none.
  virtual FinalActivation absorbs() const { return FinalActivation::kOther; }
  // What a network should end in so that its outputs have the range of the targets.
  virtual FinalActivation final_activation() const { return absorbs(); }
  virtual absl::StatusOr<std::unique_ptr<LossOp>> Bind(const LossContext& context) const = 0;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_LOSS_H_
