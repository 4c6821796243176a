#include "kernels/pool/adaptive_pool.h"

#include <algorithm>
#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/pool/pool_gpu.h"
#include "kernels/pool/pool_pass.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using pool::Axis;
using pool::CheckRange;

constexpr std::string_view kName = "adaptive pool";

Axis AxisOf(int64_t in, int64_t out) {
  Axis axis = {.extent = in};
  axis.windows.reserve(size_t(out));
  for (int64_t i = 0; i < out; ++i) {
    const AdaptiveRange range = AdaptiveWindow(i, in, out);
    axis.windows.push_back(
        {.first = range.begin, .count = range.count(), .divisor = range.count()});
    axis.taps = std::max(axis.taps, range.count());
  }
  return axis;
}

pool::Geometry GeometryOf(const AdaptivePoolSpec& spec) {
  return {.batch = spec.batch,
          .rows = AxisOf(spec.height, spec.out_height),
          .columns = AxisOf(spec.width, spec.out_width),
          .channels = spec.channels,
          .average = true,
          .format = spec.format,
          .dtype = spec.dtype};
}

class AdaptivePoolCpu : public AdaptivePool {
 public:
  explicit AdaptivePoolCpu(pool::Geometry geometry) : geometry_(std::move(geometry)) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(pool::CheckImages(kName, geometry_, Device::Cpu(), "x", x, "y", y));
    pool::RunForward(geometry_, x, y, Tensor());
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(pool::CheckImages(kName, geometry_, Device::Cpu(), "dx", dx, "dy", dy));
    pool::RunBackward(geometry_, dy, Tensor(), dx, accumulate);
    return absl::OkStatus();
  }

 private:
  const pool::Geometry geometry_;
};

}  // namespace

Shape AdaptivePoolSpec::InputShape() const {
  return SampleShape({height, width, channels}, format).Prepend(batch);
}
Shape AdaptivePoolSpec::OutputShape() const {
  return SampleShape({out_height, out_width, channels}, format).Prepend(batch);
}

absl::Status AdaptivePoolSpec::Validate() const {
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "batch", batch));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "height", height));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "width", width));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "channels", channels));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "output height", out_height));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "output width", out_width));
  const Shape in = InputShape(), out = OutputShape();
  DTNN_RETURN_IF_ERROR(Shape::Make(in.extents()).status());
  return Shape::Make(out.extents()).status();
}

std::string AdaptivePoolSpec::ToString() const {
  return StrCat("adaptive_n", batch, "h", height, "w", width, "c", channels, "_o", out_height, "x",
                out_width, format == TensorFormat::kNHWC ? "_nhwc_" : "_nchw_", ShortName(dtype));
}

absl::StatusOr<std::unique_ptr<AdaptivePool>> CreateAdaptivePool(DeviceContext& context,
                                                                 const AdaptivePoolSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  DTNN_RETURN_IF_ERROR(CheckFloating(kName, context.device(), spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<AdaptivePoolCpu>(GeometryOf(spec));
  return pool::CreateAdaptivePoolGpu(context, GeometryOf(spec));
}

}  // namespace dtnn
