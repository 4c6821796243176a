#include "kernels/pool/pool_pass.h"

#include <algorithm>

#include "kernels/operands/operand.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::pool {
namespace {

Pass PassOver(const Geometry& geometry, const Tensor& in, const Tensor& out, const Tensor& argmax) {
  const bool pixels = geometry.format == TensorFormat::kNHWC;
  return {.geometry = geometry,
          .in = {in.raw_data(), pixels ? in.PixelPitch() : in.ImagePitch()},
          .out = {out.raw_data(), pixels ? out.PixelPitch() : out.ImagePitch()},
          .argmax = geometry.average || argmax.empty() ? nullptr : argmax.raw_data()};
}

// Calls run(pass, begin, end) for parts of `units`, each of which handles `elements`.
template <class Run>
void Divide(const Pass& pass, int64_t units, int64_t elements, const Run& run) {
  const int64_t grain = std::max<int64_t>(1, kCopyGrain / std::max<int64_t>(1, elements));
  ParallelFor(0, units, grain, [&](int64_t begin, int64_t end) { run(pass, begin, end); });
}

}  // namespace

absl::Status CheckRange(std::string_view operation, std::string_view field, int64_t value,
                        int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidArgument(operation, ": ", field, " is ", value, ", expected ", least, " to ", most);
}

absl::Status CheckImages(std::string_view operation, const Geometry& geometry, Device device,
                         std::string_view in_name, const Tensor& in, std::string_view out_name,
                         const Tensor& out) {
  const int64_t images = in.shape().rank() == 4 ? in.shape()[0] : geometry.batch;
  if (images > geometry.batch) {
    return InvalidArgument(operation, ": ", in_name, " has ", images, " images, made for at most ",
                           geometry.batch);
  }
  const auto check = [&](std::string_view name, const Tensor& tensor, int64_t height,
                         int64_t width) {
    const Shape sample = SampleShape({height, width, geometry.channels}, geometry.format);
    return CheckOperand(operation, name, tensor, device, geometry.dtype, sample.Prepend(images),
                        Pitch::kAllowed);
  };
  DTNN_RETURN_IF_ERROR(check(in_name, in, geometry.rows.extent, geometry.columns.extent));
  return check(out_name, out, geometry.rows.outputs(), geometry.columns.outputs());
}

absl::Status CheckArgmax(std::string_view operation, const Geometry& geometry, Device device,
                         const Tensor& argmax, const Shape& outputs) {
  if (geometry.average) return absl::OkStatus();
  return CheckOperand(operation, "argmax", argmax, device, geometry.argmax_dtype, outputs,
                      Pitch::kNone);
}

void RunForward(const Geometry& geometry, const Tensor& x, const Tensor& y, const Tensor& argmax) {
  const Pass pass = PassOver(geometry, x, y, argmax);
  const int64_t batch = x.shape()[0], rows = geometry.rows.outputs();
  const int64_t row = geometry.columns.outputs() * geometry.rows.taps * geometry.columns.taps;
  if (geometry.format == TensorFormat::kNHWC) {
    Divide(pass, batch * rows, row * geometry.channels, ForwardNhwc);
  } else {
    Divide(pass, batch * geometry.channels, row * rows, ForwardNchw);
  }
}

void RunBackward(const Geometry& geometry, const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                 bool accumulate) {
  Pass pass = PassOver(geometry, dx, dy, argmax);
  pass.accumulate = accumulate;
  pass.tiled = geometry.rows.Tiled() && geometry.columns.Tiled();
  const int64_t batch = dx.shape()[0], channels = geometry.channels;
  const int64_t plane = geometry.rows.extent * geometry.columns.extent;
  if (geometry.format == TensorFormat::kNCHW) {
    return Divide(pass, batch * channels, plane, BackwardNchw);
  }
  // Images alone are enough units for the threads, unless there are few. A block fills cache lines.
  constexpr int64_t kUnits = 16, kLine = 16;
  const int64_t blocks = std::max<int64_t>(1, kUnits / std::max<int64_t>(1, batch));
  pass.block = RoundUp(CeilDiv(channels, blocks), kLine);
  // Sums of their own (ThreadSums) should fit the L2 cache.
  if (IsHalf(geometry.dtype) && !pass.tiled) pass.block = std::min(pass.block, 2 * kLine);
  Divide(pass, batch * CeilDiv(channels, pass.block), plane * pass.block, BackwardNhwc);
}

}  // namespace dtnn::pool
