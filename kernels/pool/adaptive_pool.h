// Adaptive average pooling: the mean of each of out_height x out_width windows that cover the
// image, whatever its size. Along an axis window i is [floor(i * in / out), ceil((i + 1) * in /
// out)): where out does not divide in, neighbours share an element; where out > in, they repeat
// elements.

#ifndef DTNN_KERNELS_POOL_ADAPTIVE_POOL_H_
#define DTNN_KERNELS_POOL_ADAPTIVE_POOL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "tensor/format.h"
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
  return {i * in / out, ((i + 1) * in + out - 1) / out};
}

class AdaptivePool {
 public:
  virtual ~AdaptivePool() = default;
  // Fewer images than the spec's batch may come.
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  // dx = (accumulate ? dx : 0) + gradient.
  virtual absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
};

absl::StatusOr<std::unique_ptr<AdaptivePool>> CreateAdaptivePool(DeviceContext& context,
                                                                 const AdaptivePoolSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_POOL_ADAPTIVE_POOL_H_
