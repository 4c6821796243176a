#include "kernels/add/add.h"

#include "kernels/add/add_cpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/add/add_cuda.h"
#endif

namespace dtnn {

absl::StatusOr<std::unique_ptr<Add>> CreateAdd(DeviceContext& context, const AddSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("add", spec.dtype));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateAddCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateAddCuda(context, spec);
#endif
    default:
      return NoKernelFor("add", context.device());
  }
}

}  // namespace dtnn
