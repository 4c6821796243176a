// The register tile of the matrix product: kRows x (kVectors * lanes) of C, held in registers while
// k runs; a vector of B times a broadcast element of A per FMA.
//
// A is walked in one of two ways, so that neither layout needs packing:
//   kByRows     consecutive k are neighbours, consecutive rows `a_stride` apart  (A as stored, or
//   copied) otherwise   consecutive rows are neighbours, consecutive k `a_stride` apart  (A^T as
//   stored, packed A)
// Every element of C is one chain of FMAs over ascending k, whatever the tile: results do not
// depend on how C is divided.
//
// Included once per instruction set, see serial_gemm_cpu.cc.

#if defined(DTNN_KERNELS_GEMM_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_GEMM_GEMM_TILE_INL_H_
#undef DTNN_KERNELS_GEMM_GEMM_TILE_INL_H_
#else
#define DTNN_KERNELS_GEMM_GEMM_TILE_INL_H_
#endif

#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kTileVectors = 2;
constexpr int kRowVectors = 8;  // of the tile for a single row of C: enough independent sums

// Rows of the largest tile: accumulators fill the registers but for B, a broadcast and slack, and
// there are enough of them to hide the FMA's latency.
template <int kVectors>
constexpr int MaxTileRows() {
  if (kVectors == kRowVectors) return 1;
#if HWY_TARGET <= HWY_AVX3
  return 14;  // of 32 registers: 28 + 2 + 1
#elif HWY_TARGET <= HWY_AVX2
  return kVectors == 1 ? 12 : 6;  // of 16 registers: 12 + 2 + 1
#else
  return kVectors == 1 ? 8 : 4;
#endif
}

// The first lanes of a vector, touching no memory after them.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadFirst(D d, [[maybe_unused]] hn::Mask<D> first,
                                [[maybe_unused]] size_t count, const T* from) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(first, d, from);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

template <class D, typename T>
HWY_INLINE void StoreFirst(D d, hn::Vec<D> v, [[maybe_unused]] hn::Mask<D> first,
                           [[maybe_unused]] size_t count, T* to) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, first, d, to);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

// What all tiles of one strip of C (its columns) share.
template <typename T>
struct Strip {
  int64_t k;
  const T* b;
  int64_t b_stride;
  bool accumulate;
  int64_t c_stride;
  size_t last_lanes;  // valid lanes of the last vector
};

// kTail: the last vector of C and of B is partial. Packed B is padded, so that only C is.
// kPrefetch: A has dense rows, of which those after the tile's come next; they, and C where it is
// read, are prefetched into the L1 cache.
template <int kRows, int kVectors, bool kByRows, bool kTailB, bool kTailC, bool kPrefetch = false,
          class D, typename T>
HWY_INLINE void Tile(D d, const Strip<T>& strip, const T* HWY_RESTRICT a, int64_t a_stride,
                     T* HWY_RESTRICT c) {
  using V = hn::Vec<D>;
  constexpr int kLast = kVectors - 1;
  const int64_t lanes = int64_t(hn::MaxLanes(d)), c_stride = strip.c_stride;
  const size_t last_lanes = strip.last_lanes;
  const hn::Mask<D> last = hn::FirstN(d, last_lanes);
  V sum[kRows][kVectors];
  DTNN_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    DTNN_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      sum[i][v] = hn::Zero(d);
      if (kPrefetch && strip.accumulate) hwy::Prefetch(c + i * c_stride + v * lanes);
    }
  }

  // One base pointer for three rows: base, base + stride, base + 2 * stride are addressing modes.
  constexpr int kBases = kByRows ? (kRows + 2) / 3 : 1;
  const T* base[kBases];
  DTNN_UNROLL(16)
  for (int i = 0; i < kBases; ++i) base[i] = a + 3 * i * a_stride;
  const T* HWY_RESTRICT b = strip.b;
  const int64_t b_stride = strip.b_stride;
  int64_t at = 0;  // of k, in elements of A

  for (int64_t p = strip.k; p > 0; --p) {
    V vb[kVectors];
    DTNN_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      vb[v] = kTailB && v == kLast ? LoadFirst(d, last, last_lanes, b + v * lanes)
                                   : hn::LoadU(d, b + v * lanes);
    }
    if constexpr (kPrefetch) hwy::Prefetch(a + (kRows * (strip.k + strip.k - p)));
    DTNN_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      const V va = hn::Set(d, kByRows ? base[i / 3 * kByRows][i % 3 * a_stride + at] : base[0][i]);
      DTNN_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(va, vb[v], sum[i][v]);
    }
    b += b_stride;
    if (kByRows) {
      ++at;
    } else {
      base[0] += a_stride;
    }
  }

  DTNN_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    DTNN_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + i * c_stride + v * lanes;
      if (kTailC && v == kLast) {
        V value = sum[i][v];
        if (strip.accumulate) value = hn::Add(LoadFirst(d, last, last_lanes, to), value);
        StoreFirst(d, value, last, last_lanes, to);
      } else {
        hn::StoreU(strip.accumulate ? hn::Add(hn::LoadU(d, to), sum[i][v]) : sum[i][v], d, to);
      }
    }
  }
}

// `rows` rows of a strip, in tiles of kRows and then of smaller ones.
template <int kRows, int kVectors, bool kByRows, bool kTailB, bool kTailC, bool kPrefetch = false,
          class D, typename T>
HWY_INLINE void TileRows(D d, const Strip<T>& strip, int64_t rows, const T* a, int64_t a_stride,
                         T* c) {
  for (; rows >= kRows; rows -= kRows) {
    Tile<kRows, kVectors, kByRows, kTailB, kTailC, kPrefetch>(d, strip, a, a_stride, c);
    a += kRows * (kByRows ? a_stride : 1);
    c += kRows * strip.c_stride;
  }
  if constexpr (kRows > 1) {
    constexpr int kNext = kRows > 8 ? 8 : kRows > 4 ? 4 : kRows - 1;
    if (rows > 0) {
      TileRows<kNext, kVectors, kByRows, kTailB, kTailC, kPrefetch>(d, strip, rows, a, a_stride, c);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif
