// The GPU's implementation of Concat: a launch per part that is not where it belongs, a thread per
// element.

#ifndef DTNN_KERNELS_CONCAT_CONCAT_GPU_H_
#define DTNN_KERNELS_CONCAT_CONCAT_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/concat/concat.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Concat>> CreateConcatGpu(DeviceContext& context,
                                                        const ConcatSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONCAT_CONCAT_GPU_H_
