// The GPU's implementation of Add: one thread per element, one pass over memory; up to 16 inputs.

#ifndef DTNN_KERNELS_ADD_ADD_GPU_H_
#define DTNN_KERNELS_ADD_ADD_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/add/add.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Add>> CreateAddGpu(DeviceContext& context, const AddSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ADD_ADD_GPU_H_
