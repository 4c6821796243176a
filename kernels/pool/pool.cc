#include "kernels/pool/pool.h"

#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/pool/pool_gpu.h"
#include "kernels/pool/pool_pass.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using pool::Axis;
using pool::CheckRange;
using pool::WindowAt;

constexpr std::string_view kName = "pool";

int64_t Outputs(int64_t extent, int64_t window, int64_t stride, int64_t padding, int64_t dilation,
                bool ceil) {
  const int64_t room = extent + 2 * padding - dilation * (window - 1) - 1;
  if (room < 0) return 0;
  const int64_t whole = room / stride + 1;
  return ceil && room % stride > 0 && whole * stride < extent + padding ? whole + 1 : whole;
}

Axis AxisOf(int64_t extent, int64_t outputs, int64_t taps, int64_t stride, int64_t padding,
            int64_t dilation, bool count_padding) {
  Axis axis = {.extent = extent, .taps = taps, .dilation = dilation, .stride = stride};
  axis.windows.reserve(size_t(outputs));
  for (int64_t o = 0; o < outputs; ++o) {
    axis.windows.push_back(WindowAt(o, extent, taps, stride, padding, dilation, count_padding));
  }
  return axis;
}

pool::Geometry GeometryOf(const PoolSpec& spec) {
  return {.batch = spec.batch,
          .rows = AxisOf(spec.height, spec.out_height(), spec.window.vertical, spec.stride.vertical,
                         spec.padding.vertical, spec.dilation.vertical, spec.count_padding),
          .columns =
              AxisOf(spec.width, spec.out_width(), spec.window.horizontal, spec.stride.horizontal,
                     spec.padding.horizontal, spec.dilation.horizontal, spec.count_padding),
          .channels = spec.channels,
          .average = spec.kind == PoolKind::kAverage,
          .format = spec.format,
          .dtype = spec.dtype,
          .argmax_dtype = spec.ArgmaxDType()};
}

class PoolCpu : public Pool {
 public:
  explicit PoolCpu(pool::Geometry geometry) : geometry_(std::move(geometry)) {}

  absl::Status Forward(const Tensor& x, const Tensor& y, const Tensor& argmax) override {
    DTNN_RETURN_IF_ERROR(pool::CheckImages(kName, geometry_, Device::Cpu(), "x", x, "y", y));
    if (!argmax.empty()) DTNN_RETURN_IF_ERROR(CheckArgmax(argmax, y));
    pool::RunForward(geometry_, x, y, argmax);
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(pool::CheckImages(kName, geometry_, Device::Cpu(), "dx", dx, "dy", dy));
    DTNN_RETURN_IF_ERROR(CheckArgmax(argmax, dy));
    pool::RunBackward(geometry_, dy, argmax, dx, accumulate);
    return absl::OkStatus();
  }

 private:
  absl::Status CheckArgmax(const Tensor& argmax, const Tensor& out) const {
    return pool::CheckArgmax(kName, geometry_, Device::Cpu(), argmax, out.shape());
  }

  const pool::Geometry geometry_;
};

}  // namespace

int64_t PoolSpec::out_height() const {
  return Outputs(height, window.vertical, stride.vertical, padding.vertical, dilation.vertical,
                 ceil);
}
int64_t PoolSpec::out_width() const {
  return Outputs(width, window.horizontal, stride.horizontal, padding.horizontal,
                 dilation.horizontal, ceil);
}
Shape PoolSpec::InputShape() const {
  return SampleShape({height, width, channels}, format).Prepend(batch);
}
Shape PoolSpec::OutputShape() const {
  return SampleShape({out_height(), out_width(), channels}, format).Prepend(batch);
}

DType PoolSpec::ArgmaxDType() const {
  return window.vertical * window.horizontal <= pool::kMostByteTaps ? DType::kUint8 : DType::kInt32;
}

absl::Status PoolSpec::Validate() const {
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "batch", batch));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "height", height));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "width", width));
  DTNN_RETURN_IF_ERROR(CheckRange(kName, "channels", channels));
  if (count_padding && kind == PoolKind::kMax) {
    return InvalidArgument(kName, ": a maximum does not count padding; that is for means");
  }
  for (const bool vertical : {true, false}) {
    const auto of = [&](const Pair& pair) { return vertical ? pair.vertical : pair.horizontal; };
    DTNN_RETURN_IF_ERROR(CheckRange(kName, "window", of(window), 1, 4096));
    DTNN_RETURN_IF_ERROR(CheckRange(kName, "stride", of(stride)));
    DTNN_RETURN_IF_ERROR(CheckRange(kName, "dilation", of(dilation)));
    const int64_t reach = of(dilation) * (of(window) - 1);  // of the dilated window, less one
    DTNN_RETURN_IF_ERROR(CheckRange(kName, "padding", of(padding), 0, reach));
    const int64_t outputs = vertical ? out_height() : out_width();
    if (outputs > pool::kMostExtent) return CheckRange(kName, "output", outputs);
    if (outputs < 1) {
      return InvalidArgument(kName, ": the window reaches over ", reach + 1, " elements, but the ",
                             vertical ? "height" : "width", " with padding is only ",
                             (vertical ? height : width) + 2 * of(padding),
                             "; expected an output of at least 1");
    }
    // A dilated window may also step over a small image.
    for (int64_t o = 0; o < outputs && of(dilation) > 1; ++o) {
      const int64_t extent = vertical ? height : width;
      if (WindowAt(o, extent, of(window), of(stride), of(padding), of(dilation)).count > 0)
        continue;
      return InvalidArgument(
          kName, ": with padding ", of(padding), " and dilation ", of(dilation),
          " a window lies in the padding alone; expected each to hold an element of the image");
    }
  }
  const Shape in = InputShape(), out = OutputShape();
  DTNN_RETURN_IF_ERROR(Shape::Make(in.extents()).status());
  return Shape::Make(out.extents()).status();
}

std::string PoolSpec::ToString() const {
  std::string token =
      StrCat(kind == PoolKind::kMax ? "max" : "average", "_n", batch, "h", height, "w", width, "c",
             channels, "_r", window.vertical, "s", window.horizontal, "p", padding.vertical, "x",
             padding.horizontal, "u", stride.vertical, "x", stride.horizontal);
  if (dilation != Pair(1)) {
    StrAppend(&token, "d", dilation.vertical, "x", dilation.horizontal);
  }
  if (ceil) token += "ceil";
  if (count_padding) token += "counted";
  StrAppend(&token, format == TensorFormat::kNHWC ? "_nhwc_" : "_nchw_", ShortName(dtype));
  return token;
}

absl::StatusOr<std::unique_ptr<Pool>> CreatePool(DeviceContext& context, const PoolSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  DTNN_RETURN_IF_ERROR(CheckFloating(kName, context.device(), spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<PoolCpu>(GeometryOf(spec));
  return pool::CreatePoolGpu(context, GeometryOf(spec));
}

}  // namespace dtnn
