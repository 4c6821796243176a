// How much memory a device has left, for messages on what would fit.

#ifndef DTNN_KERNELS_DEVICE_FREE_MEMORY_H_
#define DTNN_KERNELS_DEVICE_FREE_MEMORY_H_

#include <cstddef>
#include <optional>

#include "kernels/device/context.h"

namespace dtnn {

// Bytes that could be allocated now, of memory of the device's own; nothing where that is the
// host's, or where the device does not say.
std::optional<size_t> FreeMemory(DeviceContext& context);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_FREE_MEMORY_H_
