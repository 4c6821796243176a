#include "kernels/cast/cast.h"

#include "kernels/cast/cast_gpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Cast>> CreateCast(DeviceContext& context, DType from, DType to) {
  if (!(from == DType::kFloat32 && IsHalf(to)) && !(IsHalf(from) && to == DType::kFloat32)) {
    return InvalidArgument("cast: from ", Name(from), " to ", Name(to),
                           ", expected float32 and a type of 16 bits");
  }
  if (context.device().is_cpu()) return NoKernelFor("cast", context.device());
  return CreateCastGpu(context, from, to);
}

}  // namespace dtnn
