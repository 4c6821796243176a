#include "kernels/pool/pool_pass.h"

#include <algorithm>

#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

PoolPass PassOver(const PoolGeometry& geometry, const Tensor& in, const Tensor& out,
                  const Tensor& winners) {
  const bool pixels = geometry.format == TensorFormat::kNHWC;
  return {.geometry = geometry,
          .in = {in.raw_data(), pixels ? in.PixelPitch() : in.ImagePitch()},
          .out = {out.raw_data(), pixels ? out.PixelPitch() : out.ImagePitch()},
          .winners = geometry.average || winners.empty() ? nullptr : winners.raw_data()};
}

// Calls run(pass, begin, end) for parts of `units`, each of which handles `elements`.
template <class Run>
void Divide(const PoolPass& pass, int64_t units, int64_t elements, const Run& run) {
  const int64_t grain = std::max<int64_t>(1, kCopyGrain / std::max<int64_t>(1, elements));
  ParallelFor(0, units, grain, [&](int64_t begin, int64_t end) { run(pass, begin, end); });
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void RunPoolForward(const PoolGeometry& geometry, const Tensor& x, const Tensor& y,
                    const Tensor& winners) {
  const PoolPass pass = PassOver(geometry, x, y, winners);
  const int64_t batch = x.shape()[0], rows = geometry.rows.outputs();
  const int64_t row = geometry.columns.outputs() * geometry.rows.taps * geometry.columns.taps;
  if (geometry.format == TensorFormat::kNHWC) {
    Divide(pass, batch * rows, row * geometry.channels, PoolForwardNhwc);
  } else {
    Divide(pass, batch * geometry.channels, row * rows, PoolForwardNchw);
  }
}

void RunPoolBackward(const PoolGeometry& geometry, const Tensor& dy, const Tensor& winners,
                     const Tensor& dx, bool accumulate) {
  PoolPass pass = PassOver(geometry, dx, dy, winners);
  pass.accumulate = accumulate;
  pass.tiled = geometry.rows.Tiled() && geometry.columns.Tiled();
  const int64_t batch = dx.shape()[0], channels = geometry.channels;
  const int64_t plane = geometry.rows.extent * geometry.columns.extent;
  if (geometry.format == TensorFormat::kNCHW) {
    return Divide(pass, batch * channels, plane, PoolBackwardNchw);
  }
  // Images alone are enough units for the threads, unless there are few. A block fills cache lines.
  constexpr int64_t kUnits = 16, kLine = 16;
  const int64_t blocks = std::max<int64_t>(1, kUnits / std::max<int64_t>(1, batch));
  pass.block = CeilDiv(CeilDiv(channels, blocks), kLine) * kLine;
  Divide(pass, batch * CeilDiv(channels, pass.block), plane * pass.block, PoolBackwardNhwc);
}

}  // namespace dtnn
