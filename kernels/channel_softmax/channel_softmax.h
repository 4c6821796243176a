// Softmax over the channels of each pixel of images (softmax/softmax.h has that of rows):
//
//   y_c = e^(x_c - max x) / sum_k e^(x_k - max x);   dx = y * (dy - sum(dy * y))
//
// Maxima and sums are those of a group of channels: all of them, or one of several as large as each
// other, such as those of attention's heads. Images of either format, which may be pitched. Where x
// and dx have 16 bits, y and dy are float32, or have 16 bits too and are rounded once.

#ifndef DTNN_KERNELS_CHANNEL_SOFTMAX_CHANNEL_SOFTMAX_H_
#define DTNN_KERNELS_CHANNEL_SOFTMAX_CHANNEL_SOFTMAX_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ChannelSoftmaxSpec {
  int64_t channels = 0;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;  // of x and dx; y and dy are WideOf it
  int64_t groups = 1;             // of channels; they are divided evenly
  bool narrow_result = false;     // y and dy are of dtype too

  DType result_dtype() const { return narrow_result ? dtype : WideOf(dtype); }
};

class ChannelSoftmax {
 public:
  virtual ~ChannelSoftmax() = default;
  // (n, image) each; y may be x if they have one type.
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  // dx = (accumulate ? dx : 0) + gradient; dx may be dy unless accumulating, if they have one type.
  virtual absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                                bool accumulate) = 0;
};

// InvalidArgument without channels, for groups that do not divide them, and for types that the
// device does not compute with.
absl::StatusOr<std::unique_ptr<ChannelSoftmax>> CreateChannelSoftmax(
    DeviceContext& context, const ChannelSoftmaxSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SOFTMAX_CHANNEL_SOFTMAX_H_
