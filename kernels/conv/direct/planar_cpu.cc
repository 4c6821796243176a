#include "kernels/conv/direct/planar_cpu.h"

#include <cstring>
#include <type_traits>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/direct/planar_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/relu-inl.h"
#include "kernels/simd/kernel_tables.h"
#include "kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::direct {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::Rectify;
#if HWY_TARGET != HWY_SCALAR
using dtnn::HWY_NAMESPACE::Transpose4;
#endif

// Rows x 3 vectors of sums, 3 vectors of pixels and a broadcast: 28 of 32 registers, or all of 16.
constexpr int kRows = HWY_MAX_BYTES == 64 ? 8 : 4;

// Sums must be named variables: compilers keep arrays of vectors in memory.
#define DTNN_FOR_ROWS(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)

template <class D, typename T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void StoreRow(D d, V a, V b, V c, const PlanarProduct<T>& p, int row, int64_t q) {
  const int64_t lanes = int64_t(hn::Lanes(d));
  if (p.scale != nullptr) {
    const V scale = hn::Set(d, p.scale[row]);
    a = hn::Mul(a, scale), b = hn::Mul(b, scale), c = hn::Mul(c, scale);
  }
  if (p.bias != nullptr) {
    const V bias = hn::Set(d, p.bias[row]);
    a = hn::Add(a, bias), b = hn::Add(b, bias), c = hn::Add(c, bias);
  }
  if (p.relu) a = Rectify(d, a), b = Rectify(d, b), c = Rectify(d, c);
  T* out = p.out + row * p.out_pitch + q;
  hn::Store(a, d, out);
  hn::Store(b, d, out + lanes);
  hn::Store(c, d, out + 2 * lanes);
}

template <typename T, int kR>
void MultiplyRows(const PlanarProduct<T>& p) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t q = 0; q < p.count; q += 3 * lanes) {
#define DTNN_DECLARE(i)                     \
  [[maybe_unused]] auto a##i = hn::Zero(d); \
  [[maybe_unused]] auto b##i = hn::Zero(d); \
  [[maybe_unused]] auto c##i = hn::Zero(d);
    DTNN_FOR_ROWS(DTNN_DECLARE)
#undef DTNN_DECLARE
    const T* filter = p.filter;
    for (int64_t k = 0; k < p.terms; ++k, filter += kR) {
      const T* x = p.x + p.offsets[k] + q;
      const auto x0 = hn::LoadU(d, x);
      const auto x1 = hn::LoadU(d, x + lanes);
      const auto x2 = hn::LoadU(d, x + 2 * lanes);
#define DTNN_STEP(i)                      \
  if constexpr (i < kR) {                 \
    const auto w = hn::Set(d, filter[i]); \
    a##i = hn::MulAdd(x0, w, a##i);       \
    b##i = hn::MulAdd(x1, w, b##i);       \
    c##i = hn::MulAdd(x2, w, c##i);       \
  }
      DTNN_FOR_ROWS(DTNN_STEP)
#undef DTNN_STEP
    }
#define DTNN_STORE(i) \
  if constexpr (i < kR) StoreRow(d, a##i, b##i, c##i, p, i, q);
    DTNN_FOR_ROWS(DTNN_STORE)
#undef DTNN_STORE
  }
}

template <typename T>
void Multiply(const PlanarProduct<T>& product) {
  if constexpr (kRows == 8) {
    if (product.rows == 8) return MultiplyRows<T, 8>(product);
  }
  MultiplyRows<T, 4>(product);
}

// Three terms times kR filters beginning with `f`; terms past the last repeat it and are not kept.
template <typename T, int kR>
void CorrelateBlock(const PlanarSums<T>& s, int64_t k, int64_t f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t last = s.terms - 1;
  const T* x0 = s.x + s.offsets[k];
  const T* x1 = s.x + s.offsets[HWY_MIN(k + 1, last)];
  const T* x2 = s.x + s.offsets[HWY_MIN(k + 2, last)];
  const T* dy = s.dy + f * s.dy_pitch;
#define DTNN_DECLARE(i)                     \
  [[maybe_unused]] auto a##i = hn::Zero(d); \
  [[maybe_unused]] auto b##i = hn::Zero(d); \
  [[maybe_unused]] auto c##i = hn::Zero(d);
  DTNN_FOR_ROWS(DTNN_DECLARE)
#undef DTNN_DECLARE
  for (int64_t q = 0; q < s.count; q += lanes) {
    const auto v0 = hn::LoadU(d, x0 + q);
    const auto v1 = hn::LoadU(d, x1 + q);
    const auto v2 = hn::LoadU(d, x2 + q);
#define DTNN_STEP(i)                                     \
  if constexpr (i < kR) {                                \
    const auto g = hn::Load(d, dy + i * s.dy_pitch + q); \
    a##i = hn::MulAdd(v0, g, a##i);                      \
    b##i = hn::MulAdd(v1, g, b##i);                      \
    c##i = hn::MulAdd(v2, g, c##i);                      \
  }
    DTNN_FOR_ROWS(DTNN_STEP)
#undef DTNN_STEP
  }
  const auto add = [&](int64_t term, int64_t filter, hn::Vec<decltype(d)> sum) HWY_ATTR {
    if (term > last) return;
    T* to = s.sums + (term * s.filters + filter) * lanes;
    hn::Store(hn::Add(hn::Load(d, to), sum), d, to);
  };
#define DTNN_ADD(i)          \
  if constexpr (i < kR) {    \
    add(k, f + i, a##i);     \
    add(k + 1, f + i, b##i); \
    add(k + 2, f + i, c##i); \
  }
  DTNN_FOR_ROWS(DTNN_ADD)
#undef DTNN_ADD
}
#undef DTNN_FOR_ROWS

template <typename T>
void Correlate(const PlanarSums<T>& s) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t f = 0;
  if constexpr (kRows == 8) {
    for (; f + 8 <= s.filters; f += 8) {
      for (int64_t k = 0; k < s.terms; k += 3) CorrelateBlock<T, 8>(s, k, f);
    }
  }
  for (; f < s.filters; f += 4) {
    for (int64_t k = 0; k < s.terms; k += 3) CorrelateBlock<T, 4>(s, k, f);
  }
  if (s.dy_sums == nullptr) return;
  for (f = 0; f < s.filters; ++f) {
    auto sum = hn::Zero(d);
    for (int64_t q = 0; q < s.count; q += lanes) {
      sum = hn::Add(sum, hn::Load(d, s.dy + f * s.dy_pitch + q));
    }
    T* const to = s.dy_sums + f * lanes;
    hn::Store(hn::Add(hn::Load(d, to), sum), d, to);
  }
}

template <typename T>
bool HasNaN(const T* values, int64_t count) {
  const hn::ScalableTag<T> d;
  auto any = hn::IsNaN(hn::Zero(d));
  for (int64_t i = 0; i < count; i += int64_t(hn::Lanes(d))) {
    any = hn::Or(any, hn::IsNaN(hn::Load(d, values + i)));
  }
  return !hn::AllFalse(d, any);
}

// The scalar target has no vectors to transpose.
#define DTNN_HAS_BLOCKS (HWY_TARGET != HWY_SCALAR)

#if DTNN_HAS_BLOCKS
// Blocks of 4 pixels x 4 channels of a row whose channels are neighbours.
template <typename T>
HWY_INLINE void BlocksToPlanes(PixelRow<const T> row, int64_t pixels, int64_t channels, T* planes,
                               int64_t plane) {
  const hn::FixedTag<T, 4> d;
  for (int64_t c = 0; c < channels; c += 4) {
    const T* from = row.data + c;
    T* to = planes + c * plane;
    for (int64_t p = 0; p < pixels; p += 4) {
      auto v0 = hn::LoadU(d, from + p * row.pixel_stride);
      auto v1 = hn::LoadU(d, from + (p + 1) * row.pixel_stride);
      auto v2 = hn::LoadU(d, from + (p + 2) * row.pixel_stride);
      auto v3 = hn::LoadU(d, from + (p + 3) * row.pixel_stride);
      Transpose4(d, v0, v1, v2, v3);
      hn::StoreU(v0, d, to + p);
      hn::StoreU(v1, d, to + plane + p);
      hn::StoreU(v2, d, to + 2 * plane + p);
      hn::StoreU(v3, d, to + 3 * plane + p);
    }
  }
}

template <typename T>
HWY_INLINE void BlocksFromPlanes(const T* planes, int64_t plane, int64_t pixels, int64_t channels,
                                 PixelRow<const T> addend, bool relu, PixelRow<T> row) {
  const hn::FixedTag<T, 4> d;
  const auto write = [&](hn::Vec<decltype(d)> v, int64_t p, int64_t c) HWY_ATTR {
    if (addend.data != nullptr) {
      v = hn::Add(v, hn::LoadU(d, addend.data + p * addend.pixel_stride + c));
    }
    if (relu) v = Rectify(d, v);
    hn::StoreU(v, d, row.data + p * row.pixel_stride + c);
  };
  for (int64_t p = 0; p < pixels; p += 4) {
    for (int64_t c = 0; c < channels; c += 4) {
      const T* from = planes + c * plane + p;
      auto v0 = hn::LoadU(d, from);
      auto v1 = hn::LoadU(d, from + plane);
      auto v2 = hn::LoadU(d, from + 2 * plane);
      auto v3 = hn::LoadU(d, from + 3 * plane);
      Transpose4(d, v0, v1, v2, v3);
      write(v0, p, c);
      write(v1, p + 1, c);
      write(v2, p + 2, c);
      write(v3, p + 3, c);
    }
  }
}

#endif  // DTNN_HAS_BLOCKS

template <typename T>
void ToPlanes(PixelRow<const T> row, int64_t pixels, int64_t channels, T* planes, int64_t plane) {
  if (row.pixel_stride == 1) {
    for (int64_t c = 0; c < channels; ++c) {
      std::memcpy(planes + c * plane, row.data + c * row.channel_stride,
                  size_t(pixels) * sizeof(T));
    }
    return;
  }
  [[maybe_unused]] int64_t whole_pixels = 0, whole_channels = 0;
#if DTNN_HAS_BLOCKS
  if constexpr (std::is_same_v<T, float>) {
    whole_pixels = pixels / 4 * 4, whole_channels = channels / 4 * 4;
    BlocksToPlanes(row, whole_pixels, whole_channels, planes, plane);
  }
#endif
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = c < whole_channels ? whole_pixels : 0; p < pixels; ++p) {
      planes[c * plane + p] = row.data[p * row.pixel_stride + c];
    }
  }
}

template <typename T>
void FromPlanes(const T* planes, int64_t plane, int64_t pixels, int64_t channels,
                PixelRow<const T> addend, bool relu, PixelRow<T> row) {
  if (row.pixel_stride == 1 && addend.data == nullptr && !relu) {
    for (int64_t c = 0; c < channels; ++c) {
      std::memcpy(row.data + c * row.channel_stride, planes + c * plane,
                  size_t(pixels) * sizeof(T));
    }
    return;
  }
  [[maybe_unused]] int64_t whole_pixels = 0, whole_channels = 0;
#if DTNN_HAS_BLOCKS
  if constexpr (std::is_same_v<T, float>) {
    if (row.channel_stride == 1) {
      whole_pixels = pixels / 4 * 4, whole_channels = channels / 4 * 4;
      BlocksFromPlanes(planes, plane, whole_pixels, whole_channels, addend, relu, row);
    }
  }
#endif
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = c < whole_channels ? whole_pixels : 0; p < pixels; ++p) {
      T value = planes[c * plane + p];
      if (addend.data != nullptr) {
        value += addend.data[p * addend.pixel_stride + c * addend.channel_stride];
      }
      row.data[p * row.pixel_stride + c * row.channel_stride] = relu && value < 0 ? T(0) : value;
    }
  }
}

#undef DTNN_HAS_BLOCKS

template <typename T>
const PlanarKernels<T>* PlanarTable() {
  static const PlanarKernels<T> table = {int64_t(hn::Lanes(hn::ScalableTag<T>())),
                                         kRows,
                                         &Multiply<T>,
                                         &Correlate<T>,
                                         &HasNaN<T>,
                                         &ToPlanes<T>,
                                         &FromPlanes<T>};
  return &table;
}

DTNN_KERNEL_TABLES(PlanarKernels, PlanarTable, (), ())

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv::direct
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::conv::direct {

DTNN_EXPORT_KERNEL_TABLES(PlanarKernels, CpuPlanarKernels, (), ())

}  // namespace dtnn::conv::direct
#endif  // HWY_ONCE
