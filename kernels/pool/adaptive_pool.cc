#include "kernels/pool/adaptive_pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/elementwise/operands.h"
#include "kernels/operand.h"
#include "kernels/pool/pool_pass.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

absl::Status CheckExtent(const char* field, int64_t value) {
  constexpr int64_t kMost = int64_t{1} << 24;  // keeps the products of two in 63 bits
  if (value >= 1 && value <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("adaptive pool: ", field, " is ", value, ", expected 1 to ", kMost));
}

Axis AxisOf(int64_t in, int64_t out) {
  Axis axis = {.extent = in};
  axis.windows.reserve(size_t(out));
  for (int64_t i = 0; i < out; ++i) {
    const AdaptiveRange range = AdaptiveWindow(i, in, out);
    axis.windows.push_back({.first = range.begin, .count = range.count()});
    axis.taps = std::max(axis.taps, range.count());
  }
  return axis;
}

class AdaptivePoolCpu : public AdaptivePool {
 public:
  explicit AdaptivePoolCpu(const AdaptivePoolSpec& spec)
      : spec_(spec),
        geometry_{.rows = AxisOf(spec.height, spec.out_height),
                  .columns = AxisOf(spec.width, spec.out_width),
                  .channels = spec.channels,
                  .average = true,
                  .format = spec.format,
                  .dtype = spec.dtype} {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(Check("x", x, "y", y));
    RunPoolForward(geometry_, x, y, Tensor());
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(Check("dx", dx, "dy", dy));
    RunPoolBackward(geometry_, dy, Tensor(), dx, accumulate);
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

  const AdaptivePoolSpec spec_;
  const PoolGeometry geometry_;
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
