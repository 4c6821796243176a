// The GPU's implementation of Resize: a thread for each element that is written.

#ifndef DTNN_KERNELS_RESIZE_RESIZE_GPU_H_
#define DTNN_KERNELS_RESIZE_RESIZE_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/resize/resize.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Resize>> CreateResizeGpu(DeviceContext& context,
                                                        const ResizeSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_RESIZE_RESIZE_GPU_H_
