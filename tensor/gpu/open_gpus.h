// The GPUs that this process uses, one for each Device: opened at their first use and kept to the
// end of the process, so that memory may be freed at any time.

#ifndef DTNN_TENSOR_GPU_OPEN_GPUS_H_
#define DTNN_TENSOR_GPU_OPEN_GPUS_H_

#include "absl/status/statusor.h"
#include "tensor/device.h"
#include "tensor/gpu/driver.h"

namespace dtnn::gpu {

// The errors of CreateDriver (drivers.h) and Driver::Open, after the device's name. Any thread may
// call it.
absl::StatusOr<Gpu*> OpenGpu(Device device);

// How many of a kind this process may use; the errors of CreateDriver and Driver::DeviceCount.
absl::StatusOr<int> CountGpus(DeviceType type);

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_OPEN_GPUS_H_
