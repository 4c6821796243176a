// A dense tensor in another type: from float32 to one of 16 bits, rounded to the nearest, and back,
// which is exact. On CPUs, which do not compute with float16, bfloat16 only.

#ifndef DTNN_KERNELS_CAST_CAST_H_
#define DTNN_KERNELS_CAST_CAST_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/tensor.h"

namespace dtnn {

class Cast {
 public:
  virtual ~Cast() = default;
  // Tensors of one shape, which do not overlap.
  virtual absl::Status Run(const Tensor& x, const Tensor& y) = 0;
};

// InvalidArgument unless one of the types is float32 and the other has 16 bits, and the device
// computes with it.
absl::StatusOr<std::unique_ptr<Cast>> CreateCast(DeviceContext& context, DType from, DType to);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CAST_CAST_H_
