#include "kernels/cast/cast.h"

#include "kernels/cast/bfloat16.h"
#include "kernels/cast/cast_gpu.h"
#include "kernels/elementwise/operands.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class CastCpu : public Cast {
 public:
  CastCpu(DType from, DType to) : from_(from), to_(to) {}

  absl::Status Run(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(
        CheckOperand("cast", "x", x, Device::Cpu(), from_, x.shape(), Pitch::kNone));
    DTNN_RETURN_IF_ERROR(CheckOperand("cast", "y", y, Device::Cpu(), to_, x.shape(), Pitch::kNone));
    ParallelFor(0, x.num_elements(), kCopyGrain, [&](int64_t begin, int64_t end) {
      if (to_ == DType::kFloat32) {
        Widen(x.data<Bfloat16>() + begin, end - begin, y.data<float>() + begin);
      } else {
        Round(x.data<float>() + begin, end - begin, y.data<Bfloat16>() + begin);
      }
    });
    return absl::OkStatus();
  }

 private:
  DType from_, to_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Cast>> CreateCast(DeviceContext& context, DType from, DType to) {
  if (!(from == DType::kFloat32 && IsHalf(to)) && !(IsHalf(from) && to == DType::kFloat32)) {
    return InvalidArgument("cast: from ", Name(from), " to ", Name(to),
                           ", expected float32 and a type of 16 bits");
  }
  DTNN_RETURN_IF_ERROR(CheckFloating("cast", context.device(), IsHalf(from) ? from : to));
  if (context.device().is_cpu()) return std::make_unique<CastCpu>(from, to);
  return CreateCastGpu(context, from, to);
}

}  // namespace dtnn
