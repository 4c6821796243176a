// The GPU's implementation of PixelProduct: a thread per element of the result.

#ifndef DTNN_KERNELS_PIXEL_PRODUCT_PIXEL_PRODUCT_GPU_H_
#define DTNN_KERNELS_PIXEL_PRODUCT_PIXEL_PRODUCT_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/pixel_product/pixel_product.h"

namespace dtnn {

// CreatePixelProduct has checked the spec.
absl::StatusOr<std::unique_ptr<PixelProduct>> CreatePixelProductGpu(DeviceContext& context,
                                                                    const PixelProductSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PIXEL_PRODUCT_PIXEL_PRODUCT_GPU_H_
