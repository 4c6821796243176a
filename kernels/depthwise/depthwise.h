// Depthwise convolution (Sifre, 2014; Howard et al., "MobileNets", 2017): one filter per channel.
//
//   y[n,oh,ow,c] = epilogue(sum over kh,kw of x[n, oh*sh - ph + kh*dh, ow*sw - pw + kw*dw, c] *
//                           w[c,kh,kw])
//
// The contract is Conv2d's (kernels/conv/conv2d.h), for specs with groups == channels == filters,
// but for the filter, which is (channels, kh, kw) in both formats, and the epilogue, which knows
// bias, scale and relu. A channel's sum has only kh * kw terms, so no matrix product is behind it:
// a call should cost what moving x and y costs. Results do not depend on the number of threads.

#ifndef DTNN_KERNELS_DEPTHWISE_DEPTHWISE_H_
#define DTNN_KERNELS_DEPTHWISE_DEPTHWISE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "kernels/conv/conv2d.h"

namespace dtnn {

// (channels, kh, kw).
Shape DepthwiseFilterShape(const Conv2dSpec& spec);

// InvalidArgument with the reason for a spec that is not depthwise or that adds a tensor in its
// epilogue; Unimplemented for other devices than the CPU.
absl::StatusOr<std::unique_ptr<Conv2d>> CreateDepthwise(DeviceContext& context,
                                                        const Conv2dSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEPTHWISE_DEPTHWISE_H_
