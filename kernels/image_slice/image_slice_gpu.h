// The GPU's implementation of ImageSlice: a thread per element of the result.

#ifndef DTNN_KERNELS_IMAGE_SLICE_IMAGE_SLICE_GPU_H_
#define DTNN_KERNELS_IMAGE_SLICE_IMAGE_SLICE_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/image_slice/image_slice.h"

namespace dtnn {

// CreateImageSlice has checked the spec.
absl::StatusOr<std::unique_ptr<ImageSlice>> CreateImageSliceGpu(DeviceContext& context,
                                                                const ImageSliceSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_IMAGE_SLICE_IMAGE_SLICE_GPU_H_
