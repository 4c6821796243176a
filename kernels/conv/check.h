// What every variant of Conv2d checks before a call: InvalidArgument naming the operand whose
// shape, dtype, device, density or size does not fit the spec. Activations may be pitched, filters
// and vectors may not.

#ifndef DTNN_KERNELS_CONV_CHECK_H_
#define DTNN_KERNELS_CONV_CHECK_H_

#include "absl/status/status.h"
#include "kernels/conv/conv2d.h"

namespace dtnn {

absl::Status CheckConv2dForward(const Conv2dSpec& spec, Device device, const Tensor& x,
                                const Tensor& filter, const Tensor& y,
                                const EpilogueOperands& operands, const Conv2dUse& use = {});
absl::Status CheckConv2dBackwardData(const Conv2dSpec& spec, Device device, const Tensor& dy,
                                     const Tensor& filter, const Tensor& dx,
                                     const Conv2dUse& use = {});
// `dbias` may be empty.
absl::Status CheckConv2dBackwardFilter(const Conv2dSpec& spec, Device device, const Tensor& x,
                                       const Tensor& dy, const Tensor& dfilter,
                                       const Tensor& dbias);
// FailedPrecondition where the primitive was not made for the direction.
absl::Status CheckConv2dDirection(bool made_for_it, conv::Direction direction);
absl::Status CheckConv2dWorkspace(Workspace workspace, size_t needed);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_CHECK_H_
