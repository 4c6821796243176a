#include "kernels/pool/pool.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/elementwise/operands.h"
#include "kernels/operand.h"
#include "kernels/pool/pool_pass.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

int64_t Outputs(int64_t extent, int64_t window, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t room = extent + 2 * padding - dilation * (window - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

Shape ImagesShape(const PoolSpec& s, int64_t height, int64_t width) {
  return s.format == TensorFormat::kNHWC ? Shape{s.batch, height, width, s.channels}
                                         : Shape{s.batch, s.channels, height, width};
}

absl::Status CheckRange(const char* field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pool: ", field, " is ", value, ", expected ", least, " to ", most));
}

Axis AxisOf(int64_t extent, int64_t outputs, int64_t taps, int64_t stride, int64_t padding,
            int64_t dilation) {
  Axis axis = {.extent = extent, .taps = taps, .dilation = dilation, .stride = stride};
  axis.windows.reserve(size_t(outputs));
  for (int64_t o = 0; o < outputs; ++o) {
    axis.windows.push_back(WindowAt(o, extent, taps, stride, padding, dilation));
  }
  return axis;
}

class PoolCpu : public Pool {
 public:
  explicit PoolCpu(const PoolSpec& spec)
      : spec_(spec),
        geometry_{
            .rows = AxisOf(spec.height, spec.out_height(), spec.window.vertical,
                           spec.stride.vertical, spec.padding.vertical, spec.dilation.vertical),
            .columns =
                AxisOf(spec.width, spec.out_width(), spec.window.horizontal, spec.stride.horizontal,
                       spec.padding.horizontal, spec.dilation.horizontal),
            .channels = spec.channels,
            .average = spec.kind == PoolKind::kAverage,
            .format = spec.format,
            .dtype = spec.dtype,
            .winner_dtype = spec.WinnerDType()} {}

  absl::Status Forward(const Tensor& x, const Tensor& y, const Tensor& winners) override {
    DTNN_RETURN_IF_ERROR(Check("x", x, "y", y, winners, /*winners_needed=*/false));
    RunPoolForward(geometry_, x, y, winners);
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& winners, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(Check("dx", dx, "dy", dy, winners, /*winners_needed=*/true));
    RunPoolBackward(geometry_, dy, winners, dx, accumulate);
    return absl::OkStatus();
  }

 private:
  absl::Status Check(const char* in_name, const Tensor& in, const char* out_name, const Tensor& out,
                     const Tensor& winners, bool winners_needed) const {
    const int64_t batch = in.shape().rank() == 4 ? in.shape()[0] : 0;
    if (batch > spec_.batch) {
      return absl::InvalidArgumentError(absl::StrCat("pool ", spec_.ToString(), ": a batch of ",
                                                     batch, ", expected at most ", spec_.batch));
    }
    const auto check = [&](const char* name, const Tensor& tensor, DType dtype, const Shape& shape,
                           Pitch pitch) {
      return CheckOperand("pool", name, tensor, Device::Cpu(), dtype,
                          shape.DropFirst().Prepend(batch), pitch);
    };
    const Shape outputs = spec_.OutputShape();
    DTNN_RETURN_IF_ERROR(check(in_name, in, spec_.dtype, spec_.InputShape(), Pitch::kAllowed));
    DTNN_RETURN_IF_ERROR(check(out_name, out, spec_.dtype, outputs, Pitch::kAllowed));
    if (geometry_.average || (winners.empty() && !winners_needed)) return absl::OkStatus();
    return check("winners", winners, spec_.WinnerDType(), outputs, Pitch::kNone);
  }

  const PoolSpec spec_;
  const PoolGeometry geometry_;
};

}  // namespace

int64_t PoolSpec::out_height() const {
  return Outputs(height, window.vertical, stride.vertical, padding.vertical, dilation.vertical);
}
int64_t PoolSpec::out_width() const {
  return Outputs(width, window.horizontal, stride.horizontal, padding.horizontal,
                 dilation.horizontal);
}
Shape PoolSpec::InputShape() const { return ImagesShape(*this, height, width); }
Shape PoolSpec::OutputShape() const { return ImagesShape(*this, out_height(), out_width()); }

DType PoolSpec::WinnerDType() const {
  return window.vertical * window.horizontal <= 255 ? DType::kUint8 : DType::kInt32;
}

absl::Status PoolSpec::Validate() const {
  DTNN_RETURN_IF_ERROR(CheckFloating("pool", dtype));
  constexpr int64_t kMost = int64_t{1} << 24;  // extents; keeps every product below in 63 bits
  DTNN_RETURN_IF_ERROR(CheckRange("batch", batch, 1, kMost));
  DTNN_RETURN_IF_ERROR(CheckRange("height", height, 1, kMost));
  DTNN_RETURN_IF_ERROR(CheckRange("width", width, 1, kMost));
  DTNN_RETURN_IF_ERROR(CheckRange("channels", channels, 1, kMost));
  for (const bool vertical : {true, false}) {
    const auto of = [&](const Pair& pair) { return vertical ? pair.vertical : pair.horizontal; };
    DTNN_RETURN_IF_ERROR(CheckRange("window", of(window), 1, 4096));
    DTNN_RETURN_IF_ERROR(CheckRange("stride", of(stride), 1, kMost));
    DTNN_RETURN_IF_ERROR(CheckRange("dilation", of(dilation), 1, kMost));
    const int64_t reach = of(dilation) * (of(window) - 1);  // of the dilated window, less one
    DTNN_RETURN_IF_ERROR(CheckRange("padding", of(padding), 0, reach));
    const int64_t outputs = vertical ? out_height() : out_width();
    if (outputs > kMost) return CheckRange("output", outputs, 1, kMost);
    if (outputs < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pool: the window reaches over ", reach + 1, " elements, but the ",
          vertical ? "height" : "width", " with padding is only ",
          (vertical ? height : width) + 2 * of(padding), "; expected an output of at least 1"));
    }
    // A dilated window may also step over a small image.
    for (int64_t o = 0; o < outputs && of(dilation) > 1; ++o) {
      const int64_t extent = vertical ? height : width;
      if (WindowAt(o, extent, of(window), of(stride), of(padding), of(dilation)).count > 0)
        continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "pool: with padding ", of(padding), " and dilation ", of(dilation),
          " a window lies in the padding alone; expected each to hold an element of the image"));
    }
  }
  const Shape shape = InputShape();
  return Shape::Make(shape.extents()).status();
}

std::string PoolSpec::ToString() const {
  std::string token = absl::StrCat(
      kind == PoolKind::kMax ? "max" : "average", "_n", batch, "h", height, "w", width, "c",
      channels, "_r", window.vertical, "s", window.horizontal, "p", padding.vertical, "x",
      padding.horizontal, "u", stride.vertical, "x", stride.horizontal);
  if (dilation != Pair(1)) {
    absl::StrAppend(&token, "d", dilation.vertical, "x", dilation.horizontal);
  }
  absl::StrAppend(&token, format == TensorFormat::kNHWC ? "_nhwc" : "_nchw",
                  dtype == DType::kFloat32 ? "_f32" : "_f64");
  return token;
}

absl::StatusOr<std::unique_ptr<Pool>> CreatePool(DeviceContext& context, const PoolSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  switch (context.device().type) {
    case DeviceType::kCpu:
      return std::make_unique<PoolCpu>(spec);
    default:
      return NoKernelFor("pool", context.device());
  }
}

}  // namespace dtnn
