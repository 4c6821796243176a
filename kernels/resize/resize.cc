#include "kernels/resize/resize.h"

#include <algorithm>
#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/resize/resize_gpu.h"
#include "kernels/resize/taps.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/resize.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/resize/planes-inl.h"

#ifndef DTNN_KERNELS_RESIZE_RESIZE_CC_
#define DTNN_KERNELS_RESIZE_RESIZE_CC_
namespace dtnn {

struct ResizeCall {
  const resize::Pass& pass;
  DType dtype;
  int64_t channels;
  Operand from, to;  // rows: pixels, or images of planes
  bool accumulate;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_RESIZE_RESIZE_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// Rows of pixels, numbered image by image: a vector of channels at once.
template <typename T>
void RunPixels(const ResizeCall& call, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const resize::Axis &rows = call.pass.rows, &columns = call.pass.columns;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / rows.to();
    const resize::Taps row = rows.taps[size_t(i % rows.to())];
    const W* const row_factors = rows.FactorsOf<W>(row);
    for (int64_t c = 0; c < columns.to(); ++c) {
      const resize::Taps column = columns.taps[size_t(c)];
      const W* const column_factors = columns.FactorsOf<W>(column);
      const int64_t first = (image * rows.from + row.first) * columns.from + column.first;
      T* const to = call.to.At<T>(i * columns.to() + c, 0);
      ForEachVector<T>(call.channels, [&](const auto& at, int64_t channel) HWY_ATTR {
        const auto d = at.d;
        auto sum = call.accumulate ? at.Load(to + channel) : hn::Zero(d);
        for (int64_t a = 0; a < row.count; ++a) {
          auto of_row = hn::Zero(d);
          for (int64_t b = 0; b < column.count; ++b) {
            const T* const from = call.from.At<const T>(first + a * columns.from + b, channel);
            of_row = hn::MulAdd(at.Load(from), hn::Set(d, column_factors[b]), of_row);
          }
          sum = hn::MulAdd(of_row, hn::Set(d, row_factors[a]), sum);
        }
        at.Store(sum, to + channel);
      });
    }
  }
}

// Rows of planes, numbered plane by plane.
template <typename T>
void RunPlanes(const ResizeCall& call, int64_t begin, int64_t end) {
  const resize::Axis &rows = call.pass.rows, &columns = call.pass.columns;
  while (begin < end) {
    const int64_t plane = begin / rows.to(), first = begin % rows.to();
    const int64_t last = std::min(rows.to(), first + end - begin);
    const int64_t image = plane / call.channels, channel = plane % call.channels;
    const T* const from = call.from.At<const T>(image, channel * rows.from * columns.from);
    T* const to = call.to.At<T>(image, channel * rows.to() * columns.to());
    for (int64_t column = 0; column < columns.to(); column += PlaneStrip<T>::kColumns) {
      PlaneStrip<T> strip(call.pass, from, to, column, call.accumulate);
      for (int64_t row = first; row < last; ++row) strip.Run(row);
    }
    begin += last - first;
  }
}

void RunPixelsOf(const ResizeCall& call, int64_t begin, int64_t end) {
  DispatchCpuFloating(call.dtype,
                      [&](auto zero) HWY_ATTR { RunPixels<decltype(zero)>(call, begin, end); });
}
void RunPlanesOf(const ResizeCall& call, int64_t begin, int64_t end) {
  DispatchCpuFloating(call.dtype,
                      [&](auto zero) HWY_ATTR { RunPlanes<decltype(zero)>(call, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(RunPixelsOf);
HWY_EXPORT(RunPlanesOf);

constexpr int64_t kMostExtent = int64_t{1} << 24;

class ResizeCpu : public Resize {
 public:
  explicit ResizeCpu(const ResizeSpec& spec)
      : spec_(spec),
        forward_(resize::Pass::Forward(spec)),
        backward_(resize::Pass::Backward(spec)) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(resize::CheckImages(spec_, Device::Cpu(), "x", x, "y", y));
    Run(forward_, x, y, /*accumulate=*/false);
    return absl::OkStatus();
  }
  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(resize::CheckImages(spec_, Device::Cpu(), "dx", dx, "dy", dy));
    Run(backward_, dy, dx, accumulate);
    return absl::OkStatus();
  }

 private:
  bool planes() const { return spec_.format == TensorFormat::kNCHW; }

  Operand OperandOf(const Tensor& tensor) const {
    const int64_t images = tensor.shape()[0], elements = tensor.num_elements();
    const RowGrid grid = planes() ? RowGrid{images, elements / images}
                                  : RowGrid{elements / spec_.channels, spec_.channels};
    return OperandIn(grid, tensor, spec_.format);
  }

  void Run(const resize::Pass& pass, const Tensor& from, const Tensor& to, bool accumulate) const {
    const int64_t images = to.shape()[0];
    if (images == 0) return;
    const ResizeCall call = {.pass = pass,
                             .dtype = spec_.dtype,
                             .channels = spec_.channels,
                             .from = OperandOf(from),
                             .to = OperandOf(to),
                             .accumulate = accumulate};
    const int64_t rows = images * pass.rows.to() * (planes() ? spec_.channels : 1);
    const int64_t grain = std::max<int64_t>(1, kCopyGrain * rows / to.num_elements());
    ParallelFor(0, rows, grain, [&](int64_t begin, int64_t end) {
      planes() ? HWY_DYNAMIC_DISPATCH(RunPlanesOf)(call, begin, end)
               : HWY_DYNAMIC_DISPATCH(RunPixelsOf)(call, begin, end);
    });
  }

  const ResizeSpec spec_;
  const resize::Pass forward_, backward_;
};

}  // namespace

Shape ResizeSpec::InputShape() const {
  return SampleShape({height, width, channels}, format).Prepend(batch);
}
Shape ResizeSpec::OutputShape() const {
  return SampleShape({out_height, out_width, channels}, format).Prepend(batch);
}

absl::Status ResizeSpec::Validate() const {
  for (const auto& [name, value] :
       {std::pair("batch", batch), std::pair("height", height), std::pair("width", width),
        std::pair("channels", channels), std::pair("output height", out_height),
        std::pair("output width", out_width)}) {
    if (value >= 1 && value <= kMostExtent) continue;
    return InvalidArgument("resize: ", name, " is ", value, ", expected 1 to ", kMostExtent);
  }
  if (align_corners && mode == ResizeMode::kNearest) {
    return absl::InvalidArgumentError(
        "resize: nearest neighbours have no corners to align; that is for linear interpolation");
  }
  const Shape in = InputShape(), out = OutputShape();
  DTNN_RETURN_IF_ERROR(Shape::Make(in.extents()).status());
  return Shape::Make(out.extents()).status();
}

absl::StatusOr<std::unique_ptr<Resize>> CreateResize(DeviceContext& context,
                                                     const ResizeSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  DTNN_RETURN_IF_ERROR(CheckFloating("resize", context.device(), spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<ResizeCpu>(spec);
  return CreateResizeGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
