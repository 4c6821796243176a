#include "kernels/pool/byte_max_pool.h"

#include <algorithm>

#include "kernels/pool/windows.h"
#include "tensor/threads/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/byte_max_pool.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef DTNN_KERNELS_POOL_BYTE_MAX_POOL_CC_
#define DTNN_KERNELS_POOL_BYTE_MAX_POOL_CC_
namespace dtnn::pool {

// The taps of a window that are in the image.
struct ByteWindow {
  const uint8_t* first;
  int64_t rows, columns;
  int64_t down, right;  // bytes from one tap to the next
};

}  // namespace dtnn::pool
#endif  // DTNN_KERNELS_POOL_BYTE_MAX_POOL_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn::pool {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Channels from `channel` on, as long as they fill vectors; returns the next one.
template <class D>
HWY_INLINE int64_t InVectors(D d, const ByteWindow& window, int64_t channel, int64_t channels,
                             uint8_t* to) {
  const auto lanes = int64_t(hn::Lanes(d));
  for (; channel + lanes <= channels; channel += lanes) {
    auto most = hn::Zero(d);
    for (int64_t i = 0; i < window.rows; ++i) {
      const uint8_t* const row = window.first + i * window.down + channel;
      for (int64_t j = 0; j < window.columns; ++j) {
        most = hn::Max(most, hn::LoadU(d, row + j * window.right));
      }
    }
    hn::StoreU(most, d, to + channel);
  }
  return channel;
}

void MaxOfWindow(const ByteWindow& window, int64_t channels, uint8_t* to) {
  int64_t channel = InVectors(hn::ScalableTag<uint8_t>(), window, 0, channels, to);
  channel = InVectors(hn::CappedTag<uint8_t, 16>(), window, channel, channels, to);
  channel = InVectors(hn::CappedTag<uint8_t, 4>(), window, channel, channels, to);
  InVectors(hn::CappedTag<uint8_t, 1>(), window, channel, channels, to);
}

// Row `row` of the outputs of all images.
void MaxOfRow(const PoolSpec& spec, const Tensor& x, const Tensor& y, int64_t row) {
  const int64_t height = spec.out_height(), width = spec.out_width();
  const int64_t pitch = x.PixelPitch();
  const Window rows = WindowAt(row % height, spec.height, spec.window.vertical,
                               spec.stride.vertical, spec.padding.vertical, spec.dilation.vertical);
  const uint8_t* const first_row =
      x.data<uint8_t>() + (row / height * spec.height + rows.first) * spec.width * pitch;
  for (int64_t i = 0; i < width; ++i) {
    const Window columns = WindowAt(i, spec.width, spec.window.horizontal, spec.stride.horizontal,
                                    spec.padding.horizontal, spec.dilation.horizontal);
    MaxOfWindow({first_row + columns.first * pitch, rows.count, columns.count,
                 spec.dilation.vertical * spec.width * pitch, spec.dilation.horizontal * pitch},
                spec.channels, y.data<uint8_t>() + (row * width + i) * y.PixelPitch());
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace pool {
namespace {
HWY_EXPORT(MaxOfRow);

void Rows(const PoolSpec& spec, const Tensor& x, const Tensor& y, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(MaxOfRow)(spec, x, y, row);
}

}  // namespace
}  // namespace pool

void MaxPoolBytes(const PoolSpec& spec, const Tensor& x, const Tensor& y) {
  ParallelFor(0, y.shape()[0] * spec.out_height(), 1,
              [&](int64_t begin, int64_t end) { pool::Rows(spec, x, y, begin, end); });
}

}  // namespace dtnn
#endif  // HWY_ONCE
