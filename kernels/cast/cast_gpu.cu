#include "kernels/cast/cast_body.h"
#include "kernels/cast/cast_gpu.h"
#include "kernels/gpu_runner.h"
#include "kernels/operand.h"
#include "tensor/status_macros.h"

namespace dtnn {

class CastGpu : public Cast {
 public:
  CastGpu(const GpuRunner& runner, DType from, DType to) : runner_(runner), from_(from), to_(to) {}

  absl::Status Run(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(
        CheckOperand("cast", "x", x, runner_.device(), from_, x.shape(), Pitch::kNone));
    DTNN_RETURN_IF_ERROR(
        CheckOperand("cast", "y", y, runner_.device(), to_, x.shape(), Pitch::kNone));
    const auto run = [&]<typename From, typename To>(From, To) {
      return runner_.ForEach("cast", x.num_elements(),
                             CastBody<From, To>{x.data<From>(), y.data<To>()});
    };
    if (from_ == DType::kFloat16) return run(Float16(), float());
    if (from_ == DType::kBfloat16) return run(Bfloat16(), float());
    return to_ == DType::kFloat16 ? run(float(), Float16()) : run(float(), Bfloat16());
  }

 private:
  GpuRunner runner_;
  DType from_, to_;
};

absl::StatusOr<std::unique_ptr<Cast>> CreateCastGpu(DeviceContext& context, DType from, DType to) {
  return std::make_unique<CastGpu>(GpuRunner(context), from, to);
}

}  // namespace dtnn
