// Some channels of images, one after the other or dealt like cards from groups: a slice, a channel
// shuffle (Zhang et al., "ShuffleNet", CVPR 2018), or both.
//
//   Forward    y[j] = x[begin + (j mod groups) * (count / groups) + j / groups],  0 <= j < count
//   Backward   dx = (accumulate ? dx : 0) + dy where its channel of x is, 0 at other channels
//
// With one group, y is channels begin .. begin + count - 1 of x in their order. Elements are copied
// bit for bit.
//
// x, dx are (n, height, width, channels) and y, dy (n, height, width, count), or with channels
// second in NCHW. All may be pitched; none shares memory with another. Bytes moved: y or dx is
// written, and what it is made of read.

#ifndef DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_H_
#define DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ChannelPickSpec {
  int64_t channels = 0;          // of x
  int64_t begin = 0, count = 0;  // of x, in y
  int64_t groups = 1;            // a divisor of count
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;

  // InvalidArgument, naming what does not fit.
  absl::Status Validate() const;
};

class ChannelPick {
 public:
  virtual ~ChannelPick() = default;
  // Both return InvalidArgument, naming the operand, for one that is missing or whose shape, dtype
  // or device does not fit the spec.
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  virtual absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
};

// InvalidArgument as Validate() says.
absl::StatusOr<std::unique_ptr<ChannelPick>> CreateChannelPick(DeviceContext& context,
                                                               const ChannelPickSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_H_
