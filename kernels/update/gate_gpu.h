// The GPU's implementation of UpdateGate.

#ifndef DTNN_KERNELS_UPDATE_GATE_GPU_H_
#define DTNN_KERNELS_UPDATE_GATE_GPU_H_

#include <memory>

#include "kernels/update/gate.h"

namespace dtnn {

// Without its tensors, which UpdateGate::Create adds.
std::unique_ptr<UpdateGate> CreateUpdateGateGpu(DeviceContext& context, DType dtype, double limit);

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_GATE_GPU_H_
