// Normalisation of images within each sample: group normalisation (Wu & He, ECCV 2018), of which a
// layer normalisation over all of a sample (Ba et al., 2016) has one group, and layer normalisation
// of each pixel over its channels (ConvNeXt; Liu et al., CVPR 2022).
//
// The channels of a sample are divided into groups. A set is a group with all its pixels or, with
// `per_pixel`, with one. With sums over the m elements of a set, s^2 = variance + epsilon, and
// z = (x - mean) / s:
//
//   Forward    mean = sum(x) / m;  variance = sum((x - mean)^2) / m
//              y = gamma * z + beta                               gamma, beta: one per channel
//   Backward   dbeta = sum over samples and pixels of dy;  dgamma = the same of dy * z
//              dx = (accumulate ? dx : 0) + (g - sum(g) / m - z * sum(g * z) / m) / s,
//              g = gamma * dy
//
// x, y, dy, dx: (n, h, w, channels), or with channels second in NCHW, n <= batch, a pitch allowed.
// y may be x; dx may be dy unless accumulating. Backward computes mean and variance again, from x:
// nothing is kept between the two. The order of summation does not depend on the number of threads.
// Bytes moved, where a set fits into the cache: Forward reads x and writes y; Backward reads x and
// dy and writes dx.

#ifndef DTNN_KERNELS_GROUP_NORM_GROUP_NORM_H_
#define DTNN_KERNELS_GROUP_NORM_GROUP_NORM_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/workspace/workspace.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct GroupNormSpec {
  int64_t batch = 0;      // the most a call will bring
  int64_t positions = 1;  // height * width
  int64_t channels = 0;
  int64_t groups = 1;  // a divisor of channels
  bool per_pixel = false;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
  double epsilon = 1e-5;

  int64_t group_channels() const { return channels / groups; }
  int64_t sets_per_image() const { return groups * (per_pixel ? positions : 1); }
  int64_t set_size() const { return group_channels() * (per_pixel ? 1 : positions); }
};

class GroupNorm {
 public:
  virtual ~GroupNorm() = default;

  // gamma, beta and their gradients: (channels,), WideOf the spec's dtype.
  virtual absl::Status Forward(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                               const Tensor& y) = 0;
  // Overwrites dgamma and dbeta, both empty where they are not wanted; `dx` empty: likewise.
  virtual absl::Status Backward(const Tensor& x, const Tensor& dy, const Tensor& gamma,
                                const Tensor& dx, bool accumulate, const Tensor& dgamma,
                                const Tensor& dbeta, Workspace workspace) = 0;
  // What Backward needs.
  virtual size_t workspace_bytes() const = 0;
};

// InvalidArgument for sizes below 1, for groups that do not divide the channels, and for an epsilon
// that is not above 0.
absl::StatusOr<std::unique_ptr<GroupNorm>> CreateGroupNorm(DeviceContext& context,
                                                           const GroupNormSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GROUP_NORM_GROUP_NORM_H_
