// Images times a factor for each channel of each sample: y = x * s, as squeeze-and-excitation does
// (Hu et al., 2018), and its gradients.
//
//   Multiply   y = (accumulate ? y : 0) + x * s          y may be x; with dy for x it makes dx
//   Reduce     ds = (accumulate ? ds : 0) + sum over the pixels of x * dy
//
// x, y and dy are (n, h, w, channels), or with channels second in NCHW; s and ds the same with h =
// w = 1. All may be pitched. Sums are made in float32 or float64, and rounded once; the order of
// summation is the same on any number of threads. One pass over memory each.

#ifndef DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_H_
#define DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct ChannelScaleSpec {
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
};

class ChannelScale {
 public:
  virtual ~ChannelScale() = default;
  virtual absl::Status Multiply(const Tensor& x, const Tensor& s, const Tensor& y,
                                bool accumulate) = 0;
  virtual absl::Status Reduce(const Tensor& x, const Tensor& dy, const Tensor& ds,
                              bool accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<ChannelScale>> CreateChannelScale(DeviceContext& context,
                                                                 const ChannelScaleSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_H_
