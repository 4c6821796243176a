// Categorical cross entropy of images whose pixels each have a class: the mean over an image's
// labelled pixels of
//
//   -sum over classes c of t_c log p_c,    t_c = w_c ((1 - s) [c = label] + s / K)
//
// with label smoothing s over K classes and weights w of classes (all 1 where there are none). p is
// softmax(x) over the channels, or x where it is probabilities already; p is clipped to
// [1e-8, 1 - 1e-8] as in kernels/row_loss. A pixel with a negative label counts for nothing; an
// image without labelled pixels has the loss 0 and the gradient 0.
//
// Gradients are divided by the image's labelled pixels, like its loss. Sums are in double
// precision, in an order that no number of threads changes.

#ifndef DTNN_KERNELS_PIXEL_LOSS_PIXEL_LOSS_H_
#define DTNN_KERNELS_PIXEL_LOSS_PIXEL_LOSS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/gradient_scale.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct PixelLossSpec {
  int64_t images = 0;       // the most that a call will bring
  ImageExtents image = {};  // its channels are the classes
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;  // of x and dx
  bool from_logits = false;
  double label_smoothing = 0;              // [0, 1)
  std::vector<double> class_weights = {};  // one per class; none: all 1
};

class PixelLoss {
 public:
  virtual ~PixelLoss() = default;
  // x: (n, image). labels: int32 (n, height, width), each below the number of classes (checked
  // where they are read). probabilities: written where x holds logits, and may then be x if they
  // have one type; else ignored. losses: (n,). dx: scale times the gradient of the sum of the
  // losses; empty when not wanted; may be x. Probabilities and losses are WideOf the spec's type.
  virtual absl::Status Run(const Tensor& x, const Tensor& labels, const Tensor& probabilities,
                           const Tensor& losses, const Tensor& dx, const GradientScale& scale) = 0;
};

// InvalidArgument for a spec without images, pixels or classes, and for other numbers of weights.
absl::StatusOr<std::unique_ptr<PixelLoss>> CreatePixelLoss(DeviceContext& context,
                                                           const PixelLossSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PIXEL_LOSS_PIXEL_LOSS_H_
