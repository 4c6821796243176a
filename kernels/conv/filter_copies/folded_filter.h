// A filter times a factor for each output channel, as a convolution on a GPU reads it: what a
// normalisation after a convolution does in evaluation, beside its shift. Multiplied before it is
// rounded, it is as exact as a filter of 16 bits can be; cuDNN's plans with a shift, an addend and
// a relu in their write-back are then enough, those with a scale too are few and slow to compile.

#ifndef DTNN_KERNELS_CONV_FILTER_COPIES_FOLDED_FILTER_H_
#define DTNN_KERNELS_CONV_FILTER_COPIES_FOLDED_FILTER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/conv/conv2d.h"
#include "kernels/device/context.h"
#include "tensor/tensor.h"

namespace dtnn {

class FoldedFilter {
 public:
  virtual ~FoldedFilter() = default;
  // folded = scale * filter, of dense tensors: the filter as it is stored, spec.FilterShape(), and
  // the scale, (filters,), in WideOf(spec.dtype); `folded` is use.FilterShape(spec) of spec.dtype.
  virtual absl::Status Run(const Tensor& filter, const Tensor& scale, const Tensor& folded) = 0;
};

// On GPUs. For changes of parameters, not for every call.
absl::StatusOr<std::unique_ptr<FoldedFilter>> CreateFoldedFilter(DeviceContext& context,
                                                                 const Conv2dSpec& spec,
                                                                 const Conv2dUse& use);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_FILTER_COPIES_FOLDED_FILTER_H_
