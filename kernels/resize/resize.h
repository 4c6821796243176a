// Images of another size, by nearest neighbours or linear interpolation along both axes: PyTorch's
// interpolate, ONNX's Resize, in exact positions (PyTorch rounds those of nearest to float32). Each
// axis by itself: output i of `out` stands at position p of the
// `in` elements,
//
//   nearest                  p = floor(i * in / out), that element alone
//   linear                   p = max(0, (i + 1/2) * in / out - 1/2)
//   linear, align_corners    p = i * (in - 1) / (out - 1), or 0 where out is 1
//
// and linear is (1 - f) * x[floor(p)] + f * x[floor(p) + 1], f = p - floor(p), the last element
// where there is none after it. An element whose factor is 0 is not read.
//
// x, dx are (n, height, width, channels) and y, dy (n, out_height, out_width, channels), or with
// channels second in NCHW; n <= batch, the same in a call. All may be pitched; none shares memory
// with another. Results are the same bits on any number of threads. Bytes moved: x or dy is read
// and y or dx written, where neighbouring rows stay in the cache.

#ifndef DTNN_KERNELS_RESIZE_RESIZE_H_
#define DTNN_KERNELS_RESIZE_RESIZE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class ResizeMode : uint8_t { kNearest, kLinear };

struct ResizeSpec {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t out_height = 0, out_width = 0;
  ResizeMode mode = ResizeMode::kNearest;
  bool align_corners = false;  // of kLinear
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;

  Shape InputShape() const;
  Shape OutputShape() const;
  // InvalidArgument naming the field: extents that are not from 1 to 2^24, a tensor beyond the
  // address space, corners of nearest neighbours.
  absl::Status Validate() const;
};

class Resize {
 public:
  virtual ~Resize() = default;
  // Both return InvalidArgument, naming the operand, for one that is missing or whose shape, dtype
  // or device does not fit the spec.
  virtual absl::Status Forward(const Tensor& x, const Tensor& y) = 0;
  // dx = (accumulate ? dx : 0) + gradient.
  virtual absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
};

// InvalidArgument as Validate() says.
absl::StatusOr<std::unique_ptr<Resize>> CreateResize(DeviceContext& context,
                                                     const ResizeSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_RESIZE_RESIZE_H_
