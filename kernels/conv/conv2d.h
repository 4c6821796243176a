// Two-dimensional convolution (cross-correlation: the kernel is not flipped) with zero padding.
//
//   out = floor((in + 2*padding - dilation*(kernel - 1) - 1) / stride) + 1      per axis
//   y[n,oh,ow,f] = epilogue(sum over kh,kw,c of x[n, oh*sh - ph + kh*dh, ow*sw - pw + kw*dw, c] *
//   w[c,kh,kw,f])
//
//   x, y      activations in `format`, pitch allowed
//   filter    NHWC: (channels, kh, kw, filters); NCHW: (filters, channels, kh, kw); dense
//   cost      2 * n * ho * wo * filters * channels * kh * kw flops per direction
//
// The batch of the spec is the largest a call will bring: a slice of it, or the last partial batch,
// runs on the same primitive.

#ifndef DTNN_KERNELS_CONV_CONV2D_H_
#define DTNN_KERNELS_CONV_CONV2D_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "kernels/epilogue.h"
#include "kernels/pair.h"
#include "kernels/parameter_view.h"
#include "kernels/workspace.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct Conv2dSpec {
  int64_t batch = 0, height = 0, width = 0, channels = 0, filters = 0;
  Pair kernel = 3, stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
  Epilogue epilogue;  // of Forward
  // Whether to keep what is derived from the filter, a packed copy, from call to call. In training
  // it is renewed at every step, so that keeping it only costs memory.
  bool keeps_filter = true;

  int64_t out_height() const;
  int64_t out_width() const;
  Shape InputShape() const;   // with the batch
  Shape OutputShape() const;  // with the batch
  Shape FilterShape() const;
  double Flops() const;  // of one direction

  // InvalidArgument naming the offending field: sizes < 1 or > 2^30, output < 1, groups that do not
  // divide; a padded height or width times that of the kernel > 2^22, a tensor > 2^40 bytes.
  absl::Status Validate() const;
  // One token: "n64h32w32c64_k64r3s3p1x1_nhwc_f32" plus what is not 1: "u2x2" stride, "d2x2", "g4".
  std::string ToString() const;
};

class Conv2d {
 public:
  virtual ~Conv2d() = default;
  // y = epilogue(conv(x, filter)).
  virtual absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                               const EpilogueOperands& operands, Workspace workspace) = 0;
  // dx = (accumulate ? dx : 0) + the gradient of the input.
  virtual absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                                    bool accumulate, Workspace workspace) = 0;
  // dfilter = (accumulate ? dfilter : 0) + the gradient of the filter, and likewise dbias where
  // dbias is not empty. The sum does not depend on the number of threads.
  virtual absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                                      const Tensor& dbias, bool accumulate,
                                      Workspace workspace) = 0;
  // Enough for any of the three, for the threads available when the primitive was made.
  virtual size_t workspace_bytes() const = 0;
  virtual std::string_view variant() const = 0;
};

// `variant` is a name of variants.inc ("i2c"); one that does not support the spec answers
// InvalidArgument with the reason.
absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2d(DeviceContext& context, const Conv2dSpec& spec,
                                                     std::string_view variant);
// All names, in the order of variants.inc.
std::vector<std::string_view> Conv2dVariants();

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_CONV2D_H_
