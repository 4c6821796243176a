// The GPU's implementation of ByteImages: one thread per pixel.

#ifndef DTNN_KERNELS_BYTE_IMAGES_BYTE_IMAGES_GPU_H_
#define DTNN_KERNELS_BYTE_IMAGES_BYTE_IMAGES_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/byte_images/byte_images.h"

namespace dtnn {

// CreateByteImages has checked the spec.
absl::StatusOr<std::unique_ptr<ByteImages>> CreateByteImagesGpu(DeviceContext& context,
                                                                const ByteImagesSpec& spec,
                                                                DType dtype);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BYTE_IMAGES_BYTE_IMAGES_GPU_H_
