// Two-dimensional convolution (cross-correlation: the kernel is not flipped) with zero padding.
//
//   out = floor((in + 2*padding - dilation*(kernel - 1) - 1) / stride) + 1      per axis
//   y[n,oh,ow,f] = epilogue(sum over kh,kw,c of x[n, oh*sh - ph + kh*dh, ow*sw - pw + kw*dw, c] *
//   w[c,kh,kw,f])
//
//   x, y      activations in `format`, pitch allowed
//   filter    NHWC: (channels, kh, kw, filters); NCHW: (filters, channels, kh, kw); dense. Or a
//             copy that is channels last, see Conv2dUse.
//             With groups, filter f reads the channels / groups channels of its group alone.
//   cost      2 * n * ho * wo * filters * channels / groups * kh * kw flops per direction
//
// A NaN or an infinity of x or dy comes out where the definition has it, and leaves other results
// as they are. But winograd makes NaN of the tiles that read it, of up to 6x6 results, and of all
// taps of its channel; and padding may be multiplied as zeros, which is NaN with an infinite filter
// or dy.
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
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"
#include "kernels/device/context.h"
#include "kernels/operands/epilogue.h"
#include "kernels/operands/parameter_view.h"
#include "kernels/workspace/workspace.h"
#include "tensor/buffer.h"
#include "tensor/tensor.h"

namespace dtnn {

class Conv2d {
 public:
  virtual ~Conv2d() = default;
  // y = epilogue(conv(x, filter)). On GPUs the bias may be rounded to the 16 bits of images
  // already.
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
  // Enough for any direction of its use, for the threads available when the primitive was made.
  virtual size_t workspace_bytes() const = 0;
  // What is derived from the filter and kept from call to call, as Conv2dUse says; 0: nothing.
  virtual size_t kept_bytes() const { return 0; }
  // Memory for that, contents undefined; before the first call, which is FailedPrecondition without
  // it. InvalidArgument where there are fewer than kept_bytes().
  virtual absl::Status Keep(std::shared_ptr<Buffer> /*memory*/) { return absl::OkStatus(); }
  // The algorithm that a direction of its use runs.
  virtual std::string_view variant(conv::Direction direction) const = 0;
};

// How a caller runs a primitive, which pays for nothing else: no workspace, and on GPUs no plans.
struct Conv2dUse {
  // Calls of the others are FailedPrecondition.
  conv::Directions directions = conv::kAllDirections;
  // Whether what is derived from the filter (packed panels, transformed tiles) is kept, and derived
  // again when the filter's version has changed; else it is derived in the workspace of every call.
  // Tiles of a large filter are not kept: to transform them again is faster than to read them. In
  // training the filter is new at every step, so that keeping it only costs memory. On CPUs.
  bool keeps_filter = false;
  // Forward and BackwardData read a copy of the filter that is (filters, kh, kw, channels), as
  // filter_copies/ makes them; its gradient is in the filter's order all the same. Of NHWC images,
  // on GPUs.
  bool channels_last_filter = false;

  // The shape of the filter that Forward and BackwardData read.
  Shape FilterShape(const Conv2dSpec& spec) const {
    const Pair& kernel = spec.kernel;
    if (!channels_last_filter) return spec.FilterShape();
    return {spec.filters, kernel.vertical, kernel.horizontal, spec.channels / spec.groups};
  }
};

// Names of variants.inc, one per direction; "auto" is the choice of AutomaticVariant.
struct Conv2dVariants : conv::PerDirection<std::string_view> {
  Conv2dVariants(std::string_view all = "auto")  // NOLINT: one name for the three
      : PerDirection{all, all, all} {}
  Conv2dVariants(const char* all) : Conv2dVariants(std::string_view(all)) {}  // NOLINT
};

// InvalidArgument for an unknown name, and with the reason for a variant that does not support the
// spec in a direction of the use. On GPUs one variant computes all directions.
absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2d(DeviceContext& context, const Conv2dSpec& spec,
                                                     Conv2dVariants variants = {},
                                                     const Conv2dUse& use = {});
// The variants named where they compute a direction of a valid spec, and elsewhere "auto".
Conv2dVariants WithFallback(Conv2dVariants variants, const Conv2dSpec& spec);
// All names, in the order of variants.inc.
std::vector<std::string_view> Conv2dVariantNames();
// Why a variant does not compute a direction of a valid spec; empty where it does.
std::string_view Conv2dRefusal(std::string_view variant, const Conv2dSpec& spec,
                               conv::Direction direction);
// Largest rounding error of a variant, which supports the spec, in proportion to that of a sum in
// order.
double Conv2dError(std::string_view variant, const Conv2dSpec& spec, conv::Direction direction);
// The variant with the largest gain (kernel.h) of those that support the spec, for "auto".
std::string_view AutomaticVariant(const Conv2dSpec& spec, conv::Direction direction);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_CONV2D_H_
