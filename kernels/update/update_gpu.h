// The GPU's implementation of Update: one thread per parameter.

#ifndef DTNN_KERNELS_UPDATE_UPDATE_GPU_H_
#define DTNN_KERNELS_UPDATE_UPDATE_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/update/update.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Update>> CreateUpdateGpu(DeviceContext& context,
                                                        const UpdateSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_UPDATE_GPU_H_
