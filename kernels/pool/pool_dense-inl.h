// Forward pooling of planes with a horizontal stride of 1: neighbours in a row are lanes of a
// vector, and masks keep the padding out, so that narrow rows need no other way for their edges.
// Included once per target.

#if defined(DTNN_KERNELS_POOL_POOL_DENSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_POOL_DENSE_INL_H_
#undef DTNN_KERNELS_POOL_POOL_DENSE_INL_H_
#else
#define DTNN_KERNELS_POOL_POOL_DENSE_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/pool_cpu.h"
#include "kernels/pool/winners-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

#if DTNN_MASKED_MEMORY
// The lanes of a vector of neighbours that lie inside a row, the first of them at `first`.
template <class D>
HWY_INLINE hn::Mask<D> LanesInside(D d, int64_t first, int64_t width) {
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t begin = std::clamp<int64_t>(-first, 0, lanes);
  const int64_t end = std::clamp<int64_t>(width - first, 0, lanes);
  return hn::AndNot(hn::FirstN(d, size_t(begin)), hn::FirstN(d, size_t(end)));
}

// The taps of a kernel row for one vector of outputs, the same in all rows.
inline constexpr int64_t kMostMasks = 8;
template <class D>
struct LaneMasks {
  hn::Mask<D> inside[kMostMasks];
  hn::Vec<D> first, count;  // number in the row, and number of taps, inside the row

  HWY_INLINE LaneMasks(D d, const PoolSpec& s, int64_t output)
      : first(hn::Zero(d)), count(hn::Zero(d)) {
    using T = hn::TFromD<D>;
    for (int64_t kw = s.window.horizontal - 1; kw >= 0; --kw) {
      inside[kw] =
          LanesInside(d, output - s.padding.horizontal + kw * s.dilation.horizontal, s.width);
      first = hn::IfThenElse(inside[kw], hn::Set(d, T(kw)), first);
      count = hn::Add(count, hn::IfThenElseZero(inside[kw], hn::Set(d, T(1))));
    }
  }
};

// A vector of outputs; `x` is the first tap of its first lane.
template <typename T, typename W, class Access, class Masks>
HWY_INLINE void MaxOfLanes(const PoolSpec& s, const Taps& rows, const Access& access,
                           const Masks& masks, const T* x, T* y, W* winners) {
  const auto d = access.d;
  const int64_t width = s.window.horizontal;
  // The first element inside the image wins where all are as small as they can be.
  auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto winner = hn::Add(masks.first, hn::Set(d, T(rows.begin * width)));
  for (int64_t kh = rows.begin; kh < rows.end; ++kh, x += s.dilation.vertical * s.width) {
    for (int64_t kw = 0; kw < width; ++kw) {
      const auto v = LoadWhere(masks.inside[kw], d, x + kw * s.dilation.horizontal);
      const auto better = hn::And(masks.inside[kw], hn::Or(hn::Gt(v, best), hn::IsNaN(v)));
      best = hn::IfThenElse(better, v, best);
      winner = hn::IfThenElse(better, hn::Set(d, T(kh * width + kw)), winner);
    }
  }
  access.Store(best, y);
  if (winners != nullptr) StoreWinners<W>(access, winner, winners, 0);
}

template <typename T, class Access, class Masks>
HWY_INLINE void MeanOfLanes(const PoolSpec& s, const Taps& rows, const Access& access,
                            const Masks& masks, const T* x, T* y) {
  const auto d = access.d;
  auto sum = hn::Zero(d);
  for (int64_t kh = rows.begin; kh < rows.end; ++kh, x += s.dilation.vertical * s.width) {
    for (int64_t kw = 0; kw < s.window.horizontal; ++kw) {
      sum = hn::Add(sum, LoadWhere(masks.inside[kw], d, x + kw * s.dilation.horizontal));
    }
  }
  access.Store(hn::Div(sum, hn::Mul(masks.count, hn::Set(d, T(rows.count())))), y);
}

// Planes [begin, end), which share the masks, a column of vectors after the other.
inline constexpr int64_t kPlanesTogether = 8;
template <typename T, typename W>
void ForwardDenseWindows(const PoolPass& pass, int64_t begin, int64_t end) {
  const PoolSpec& s = pass.spec;
  ForEachVector<T>(pass.out_width, [&](const auto& access, int64_t i) HWY_ATTR {
    const LaneMasks masks(access.d, s, i);
    for (int64_t number = begin; number < end; ++number) {
      const Plane<T> plane(pass, number);
      W* winners = static_cast<W*>(pass.winners);
      if (winners != nullptr) winners += plane.winners + i;
      for (int64_t oh = 0; oh < pass.out_height; ++oh) {
        const Taps rows = RowTaps(s, oh);
        const int64_t row = rows.origin + rows.begin * s.dilation.vertical;
        const T* x = plane.in + row * s.width + i - s.padding.horizontal;
        T* y = plane.out + oh * pass.out_width + i;
        if (pass.average()) {
          MeanOfLanes<T>(s, rows, access, masks, x, y);
        } else {
          MaxOfLanes<T, W>(s, rows, access, masks, x, y,
                           winners == nullptr ? nullptr : winners + oh * pass.out_width);
        }
      }
    }
  });
}
#endif  // DTNN_MASKED_MEMORY

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_POOL_DENSE_INL_H_
