// Adaptive average pooling: the mean of each of out_height x out_width windows that cover the
// image, whatever its size. Along an axis window i is [floor(i * in / out), ceil((i + 1) * in /
// out)): where out does not divide in, neighbours share an element; where out > in, they repeat
// elements. These are the bins of spatial pyramid pooling (He et al., TPAMI 2015, appendix A) and
// the windows of PyTorch's AdaptiveAvgPool2d.
//
// x, dx are (n, height, width, channels) and y, dy (n, out_height, out_width, channels), or with
// channels second in NCHW; n <= batch, the same in a call. All may be pitched. y shares no memory
// with x, nor dx with dy. A NaN in a window is its mean. Results are the same bits on any number
// of threads. Each element of x is read once per window that holds it.

#ifndef DTNN_KERNELS_POOL_ADAPTIVE_POOL_H_
#define DTNN_KERNELS_POOL_ADAPTIVE_POOL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/rounding.h"
#include "tensor/tensor.h"

namespace dtnn {

struct AdaptivePoolSpec {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t out_height = 0, out_width = 0;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;

  Shape InputShape() const;
  Shape OutputShape() const;
  // InvalidArgument naming the field: extents < 1, a tensor beyond the address space.
  absl::Status Validate() const;
  std::string ToString() const;  // "adaptive_n64h8w8c256_o1x1_nhwc_f32"
};

// The window of output `i`. Turned round, AdaptiveWindow(element, out, in) are the outputs whose
// windows hold an element.
struct AdaptiveRange {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};
inline AdaptiveRange AdaptiveWindow(int64_t i, int64_t in, int64_t out) {
  return {i * in / out, CeilDiv((i + 1) * in, out)};
}

class AdaptivePool {
 public:
  virtual ~AdaptivePool() = default;
  // Both return InvalidArgument, naming the operand, for one that is missing or whose shape, dtype
  // or device does not fit the spec.
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  // dx = (accumulate ? dx : 0) + gradient.
  virtual absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
};

// InvalidArgument as Validate() says.
absl::StatusOr<std::unique_ptr<AdaptivePool>> CreateAdaptivePool(DeviceContext& context,
                                                                 const AdaptivePoolSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_POOL_ADAPTIVE_POOL_H_
