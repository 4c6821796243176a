#include "kernels/concat/concat.h"

#include "kernels/concat/concat_cpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Concat>> CreateConcat(DeviceContext& context,
                                                     const ConcatSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("concat", spec.dtype));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateConcatCpu(spec);
    default:
      return NoKernelFor("concat", context.device());
  }
}

}  // namespace dtnn
