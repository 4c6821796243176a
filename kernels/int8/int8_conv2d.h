// Two-dimensional convolution in 8 bits, of NHWC images, for inference; a fully connected layer is
// one of 1 x 1 images.
//
//   sum = sum over taps and channels of (x - zero point of x) * w        exact, in int32
//   y   = activation(sum * scale of x * scale of w[filter] + bias + addend)
//
// x, the addend and y are bytes with a scale and a zero point each (quantization.h); y may be
// float32 instead. Weights are made of float32 ones here: int8 with a scale per filter, w / scale
// rounded to nearest even, |w| <= 127. Padding has the zero point. The bits are the same at every
// level (level.h) and on any number of threads.

#ifndef DTNN_KERNELS_INT8_INT8_CONV2D_H_
#define DTNN_KERNELS_INT8_INT8_CONV2D_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/int8/level.h"
#include "kernels/int8/quantization.h"
#include "kernels/workspace/workspace.h"
#include "tensor/buffer.h"
#include "tensor/tensor.h"

namespace dtnn {

struct Int8Conv2dSpec {
  // Sizes, geometry, groups; NHWC. Of its epilogue `bias`, `add` and `relu` count.
  Conv2dSpec conv = {};
  Quantization input = {};
  Quantization addend = {};
  std::optional<Quantization> output = {};  // none: y is float32

  std::string ToString() const;
};

// The weights of a layer, float32 on the host.
struct Int8Conv2dParameters {
  const float* filter = nullptr;  // as Conv2dSpec::FilterShape
  const float* scale = nullptr;   // per filter, multiplied into it first; null: none
  const float* bias = nullptr;    // null: none
};

class Int8Conv2d {
 public:
  virtual ~Int8Conv2d() = default;

  // InvalidArgument for a spec that Conv2dSpec refuses, that is not NHWC, or whose sums may exceed
  // an int32: more than 65536 products per result.
  static absl::StatusOr<std::unique_ptr<Int8Conv2d>> Create(const Int8Conv2dSpec& spec,
                                                            Int8Level level = BestInt8Level());

  virtual size_t workspace_bytes() const = 0;
  virtual size_t kept_bytes() const = 0;
  // Memory for what is kept, of kept_bytes() or more; before anything else.
  virtual void Keep(std::byte* memory) = 0;
  // InvalidArgument that names the filter where a weight or bias is NaN or infinite.
  virtual absl::Status SetParameters(const Int8Conv2dParameters& parameters) = 0;
  // x: (n, h, w, c) of uint8 with n up to the spec's; y and addend: (n, out h, out w, filters).
  // All may have a pitch. Bytes of y may be those of the addend.
  virtual absl::Status Forward(const Tensor& x, const Tensor& addend, const Tensor& y,
                               Workspace workspace) = 0;
  // "amx_int8", "depthwise".
  virtual std::string Algorithm() const = 0;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_INT8_INT8_CONV2D_H_
