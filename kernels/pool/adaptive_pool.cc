#include "kernels/pool/adaptive_pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/elementwise/operands.h"
#include "kernels/operand.h"
#include "kernels/pool/adaptive_pool_cpu.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

absl::Status CheckExtent(const char* field, int64_t value) {
  constexpr int64_t kMost = int64_t{1} << 24;  // keeps the products of two in 63 bits
  if (value >= 1 && value <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("adaptive pool: ", field, " is ", value, ", expected 1 to ", kMost));
}

class AdaptivePoolCpu : public AdaptivePool {
 public:
  explicit AdaptivePoolCpu(const AdaptivePoolSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(Check("x", x, "y", y));
    const AdaptivePoolPass pass = PassOver(x, y, false);
    ForEachUnit(x.shape()[0], spec_.out_height,
                [&](int64_t begin, int64_t end) { AdaptivePoolForward(pass, begin, end); });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(Check("dx", dx, "dy", dy));
    const AdaptivePoolPass pass = PassOver(dx, dy, accumulate);
    ForEachUnit(dx.shape()[0], spec_.height,
                [&](int64_t begin, int64_t end) { AdaptivePoolBackward(pass, begin, end); });
    return absl::OkStatus();
  }

 private:
  absl::Status Check(const char* in_name, const Tensor& in, const char* out_name,
                     const Tensor& out) const {
    const int64_t batch = in.shape().rank() == 4 ? std::min(in.shape()[0], spec_.batch) : 0;
    const auto check = [&](const char* name, const Tensor& tensor, const Shape& shape) {
      return CheckOperand("adaptive pool", name, tensor, Device::Cpu(), spec_.dtype,
                          shape.DropFirst().Prepend(batch), Pitch::kAllowed);
    };
    DTNN_RETURN_IF_ERROR(check(in_name, in, spec_.InputShape()));
    return check(out_name, out, spec_.OutputShape());
  }

  AdaptivePoolPass PassOver(const Tensor& in, const Tensor& out, bool accumulate) const {
    const bool pixels = spec_.format == TensorFormat::kNHWC;
    return {.spec = spec_,
            .in = {in.raw_data(), pixels ? in.PixelPitch() : in.ImagePitch()},
            .out = {out.raw_data(), pixels ? out.PixelPitch() : out.ImagePitch()},
            .accumulate = accumulate};
  }

  template <typename F>
  void ForEachUnit(int64_t batch, int64_t rows, const F& body) const {
    const int64_t units = spec_.format == TensorFormat::kNHWC ? rows : spec_.channels;
    const int64_t image = std::max(spec_.height * spec_.width, spec_.out_height * spec_.out_width);
    const int64_t elements = std::max<int64_t>(1, image * spec_.channels / units);
    ParallelFor(0, batch * units, std::max<int64_t>(1, kCopyGrain / elements), body);
  }

  const AdaptivePoolSpec spec_;
};

}  // namespace

Shape AdaptivePoolSpec::InputShape() const {
  return SampleShape({height, width, channels}, format).Prepend(batch);
}
Shape AdaptivePoolSpec::OutputShape() const {
  return SampleShape({out_height, out_width, channels}, format).Prepend(batch);
}

absl::Status AdaptivePoolSpec::Validate() const {
  DTNN_RETURN_IF_ERROR(CheckFloating("adaptive pool", dtype));
  DTNN_RETURN_IF_ERROR(CheckExtent("batch", batch));
  DTNN_RETURN_IF_ERROR(CheckExtent("height", height));
  DTNN_RETURN_IF_ERROR(CheckExtent("width", width));
  DTNN_RETURN_IF_ERROR(CheckExtent("channels", channels));
  DTNN_RETURN_IF_ERROR(CheckExtent("output height", out_height));
  DTNN_RETURN_IF_ERROR(CheckExtent("output width", out_width));
  const Shape in = InputShape(), out = OutputShape();
  DTNN_RETURN_IF_ERROR(Shape::Make(in.extents()).status());
  return Shape::Make(out.extents()).status();
}

std::string AdaptivePoolSpec::ToString() const {
  return absl::StrCat("adaptive_n", batch, "h", height, "w", width, "c", channels, "_o", out_height,
                      "x", out_width, format == TensorFormat::kNHWC ? "_nhwc" : "_nchw",
                      dtype == DType::kFloat32 ? "_f32" : "_f64");
}

absl::StatusOr<std::unique_ptr<AdaptivePool>> CreateAdaptivePool(DeviceContext& context,
                                                                 const AdaptivePoolSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  if (context.device().type != DeviceType::kCpu) {
    return NoKernelFor("adaptive pool", context.device());
  }
  return std::make_unique<AdaptivePoolCpu>(spec);
}

}  // namespace dtnn
