#include <cstdint>

#include "kernels/gpu/runner.h"
#include "kernels/operands/operand.h"
#include "kernels/update/loss_scale_gpu.h"
#include "tensor/status_macros.h"

namespace dtnn {

struct JudgeBody {
  double* squares;
  const int32_t* otherwise_closed;  // null: open
  float* scale;
  int64_t *good_steps, *skipped_steps;
  int32_t* closed;
  double* factor;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Writes(squares, 1);
    accesses.Reads(otherwise_closed, 1);
    accesses.Writes(scale, 1);
    accesses.Writes(good_steps, 1);
    accesses.Writes(skipped_steps, 1);
    accesses.Writes(closed, 1);
    accesses.Writes(factor, 1);
  }
  DTNN_HOST_DEVICE void operator()(int64_t) const {
    const float used = *scale;
    const double inverse = 1.0 / double(used);
    // x - x is 0 for finite numbers only. Squares of float32 do not overflow in float64.
    const bool finite = *squares - *squares == 0;
    *factor = inverse;
    *squares *= inverse * inverse;
    *closed = !finite || (otherwise_closed != nullptr && *otherwise_closed != 0);
    if (!finite) {
      *scale = used / 2 < LossScaleState::kLeast ? LossScaleState::kLeast : used / 2;
      *good_steps = 0;
      ++*skipped_steps;
    } else if (++*good_steps == LossScaleState::kGoodSteps) {
      *scale = used * 2 > LossScaleState::kMost ? LossScaleState::kMost : used * 2;
      *good_steps = 0;
    }
  }
};

struct ShortenBody {
  const double* by;
  double* factor;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(by, 1);
    accesses.Writes(factor, 1);
  }
  DTNN_HOST_DEVICE void operator()(int64_t) const { *factor *= *by; }
};

class LossScaleGpu : public LossScale {
 public:
  explicit LossScaleGpu(DeviceContext& context) : LossScale(context), runner_(context) {}

  absl::Status Judge(const Tensor& squares, const Tensor& closed) override {
    DTNN_RETURN_IF_ERROR(Check("the sum of squares", squares, DType::kFloat64));
    if (!closed.empty()) DTNN_RETURN_IF_ERROR(Check("the gate", closed, DType::kInt32));
    return runner_.ForEach(
        kName, 1,
        JudgeBody{squares.data<double>(), closed.empty() ? nullptr : closed.data<int32_t>(),
                  scale_.data<float>(), good_steps_.data<int64_t>(), gates_.skipped.data<int64_t>(),
                  gates_.closed.data<int32_t>(), gates_.factor.data<double>()});
  }
  absl::Status Shorten(const Tensor& factor) override {
    DTNN_RETURN_IF_ERROR(Check("the factor", factor, DType::kFloat64));
    return runner_.ForEach(kName, 1,
                           ShortenBody{factor.data<double>(), gates_.factor.data<double>()});
  }

 private:
  static constexpr std::string_view kName = "loss scale";

  absl::Status Check(std::string_view name, const Tensor& tensor, DType dtype) const {
    return CheckOperand(kName, name, tensor, runner_.device(), dtype, Shape{1}, Pitch::kNone);
  }

  GpuRunner runner_;
};

std::unique_ptr<LossScale> CreateLossScaleGpu(DeviceContext& context) {
  return std::make_unique<LossScaleGpu>(context);
}

}  // namespace dtnn
