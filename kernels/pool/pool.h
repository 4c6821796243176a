// Two-dimensional pooling: the maximum or the mean of each window. Padding never takes part: it
// never wins a maximum and is not counted in a mean, but with `count_padding`: as if it were zeros.
//
//   out = floor((in + 2*padding - dilation*(window - 1) - 1) / stride) + 1      per axis
//
// With `ceil` it is rounded up instead: a last window that begins in the image, or in the padding
// before it, may end beyond the padding after it.
//
// Ties of a maximum go to the first element in row-major window order; a NaN wins. Max pooling may
// leave the positions of the maxima in `argmax` (uint8: the window element's number; one per output
// element, in the output's order) for the backward pass; windows of more than 255 elements use
// int32.
//
// x, dx are (n, height, width, channels) and y, dy, argmax (n, out_height, out_width, channels),
// or with channels second in NCHW; n <= batch, the same in a call. x, y, dx and dy may be pitched,
// argmax may not. y shares no memory with x, nor dx with dy. Results are the same bits on any
// number of threads. Cost: Forward reads x and writes y, Backward reads dy and writes dx, about
// once each.

#ifndef DTNN_KERNELS_POOL_POOL_H_
#define DTNN_KERNELS_POOL_POOL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/pair.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class PoolKind : uint8_t { kMax, kAverage };

struct PoolSpec {
  PoolKind kind = PoolKind::kMax;
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  Pair window = 2, stride = 1, padding = 0, dilation = 1;
  bool ceil = false;
  bool count_padding = false;  // of kAverage; not beyond the padding, with `ceil`
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;

  int64_t out_height() const;
  int64_t out_width() const;
  Shape InputShape() const;
  Shape OutputShape() const;
  // Dtype of `argmax`: kUint8 up to 255 window elements, else kInt32.
  DType ArgmaxDType() const;
  // InvalidArgument naming the field: sizes < 1, output < 1, a maximum that counts, a window that
  // could lie in the padding alone (padding >= the dilated window), a tensor beyond the address
  // space.
  absl::Status Validate() const;
  std::string ToString() const;  // "max_n64h28w28c8_r2s2p0x0u2x2_nhwc_f32"
};

class Pool {
 public:
  virtual ~Pool() = default;
  // Both return InvalidArgument, naming the operand, for one that is missing or whose shape, dtype,
  // device or density does not fit the spec.

  // `argmax` may be empty (evaluation; average pooling never needs it).
  virtual absl::Status Forward(const Tensor& x, const Tensor& y, const Tensor& argmax) = 0;
  // dx = (accumulate ? dx : 0) + gradient. `argmax` must be what Forward left for an x of this
  // shape. Its numbers are not checked: others lose gradients (NHWC) or are written outside dx
  // (NCHW). Average pooling ignores it.
  virtual absl::Status Backward(const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                                bool accumulate) = 0;
};

// InvalidArgument as Validate() says.
absl::StatusOr<std::unique_ptr<Pool>> CreatePool(DeviceContext& context, const PoolSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_POOL_POOL_H_
