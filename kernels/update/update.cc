#include "kernels/update/update.h"

#include "kernels/elementwise/operands.h"
#include "kernels/update/update_cpu.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/update/update_cuda.h"
#endif

namespace dtnn {

int UpdateSpec::slots() const {
  if (rule == UpdateRule::kAdam) return 2;
  return momentum != 0 ? 1 : 0;
}

absl::StatusOr<std::unique_ptr<Update>> CreateUpdate(DeviceContext& context,
                                                     const UpdateSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("update", spec.dtype));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateUpdateCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateUpdateCuda(context, spec);
#endif
    default:
      return NoKernelFor("update", context.device());
  }
}

}  // namespace dtnn
