// The GPU's implementation of Dropout: one thread per four elements, which share one block of
// random numbers, or two. It drops exactly the elements that the CPU drops.

#ifndef DTNN_KERNELS_DROPOUT_DROPOUT_GPU_H_
#define DTNN_KERNELS_DROPOUT_DROPOUT_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/dropout/dropout.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Dropout>> CreateDropoutGpu(DeviceContext& context,
                                                          const DropoutSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DROPOUT_DROPOUT_GPU_H_
