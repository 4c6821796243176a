// What stands in for cuBLASLt on a simulated GPU. InvalidArgument, with the rule, for a call that
// breaks one of cuBLASLt's. It has no algorithm for operands that are aligned to less than 4 bytes,
// as cuBLASLt may have none.

#ifndef DTNN_KERNELS_GEMM_LT_SIMULATED_LT_H_
#define DTNN_KERNELS_GEMM_LT_SIMULATED_LT_H_

#include <memory>

#include "kernels/device/context.h"
#include "kernels/gemm/lt/lt_library.h"

namespace dtnn {

std::unique_ptr<LtLibrary> MakeSimulatedLt(DeviceContext& context);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_LT_SIMULATED_LT_H_
