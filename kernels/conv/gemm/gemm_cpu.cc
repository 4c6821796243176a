#include "kernels/conv/gemm/gemm_cpu.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/gemm/gemm_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/relu-inl.h"

// GCC unrolls loops over arrays of vectors only when told; rolled, the arrays live in memory.
#undef DTNN_UNROLL
#if HWY_COMPILER_GCC_ACTUAL
#define DTNN_UNROLL _Pragma("GCC unroll 32")
#else
#define DTNN_UNROLL _Pragma("unroll")
#endif

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::gemm {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::Rectify;

// Sums of a tile fill the registers but for the filter's vectors and a broadcast.
template <int kVectors>
constexpr int MaxRows() {
#if HWY_TARGET <= HWY_AVX3
  return 14;  // of 32 registers
#else
  return kVectors == 1 ? 12 : 6;  // of 16
#endif
}

// Channels of a block of the filter's gradient.
template <int kVectors>
constexpr int MaxChannels() {
#if HWY_TARGET <= HWY_AVX3
  return kVectors == 1 ? 24 : 12;
#else
  return kVectors == 1 ? 12 : 6;
#endif
}

template <class D, typename T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE V Finish(D d, V sum, const Panel<T>& panel, int64_t at) {
  if (panel.scale != nullptr) sum = hn::Mul(sum, hn::LoadU(d, panel.scale + at));
  if (panel.bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, panel.bias + at));
  return sum;
}

// Some columns of one pixel, and of those the ones that exist.
template <class D, typename T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void Write(D d, V sum, const Panel<T>& panel, int64_t at, T* out, const T* addend) {
  const int64_t lanes = int64_t(hn::Lanes(d));
  sum = Finish(d, sum, panel, at);
  out += panel.column + at;
  if (addend != nullptr) addend += panel.column + at;
  if (at + lanes <= panel.columns) {
    if (addend != nullptr) sum = hn::Add(sum, hn::LoadU(d, addend));
    if (panel.relu) sum = Rectify(d, sum);
    hn::StoreU(sum, d, out);
    return;
  }
  HWY_ALIGN T values[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(sum, d, values);
  for (int64_t j = 0; j < panel.columns - at; ++j) {
    T value = values[j];
    if (addend != nullptr) value += addend[j];
    out[j] = panel.relu && value < 0 ? T(0) : value;
  }
}

template <typename T, int kR, int kVectors>
HWY_NOINLINE void RunTile(const RowOfPixels<T>& row, const Panel<T>& panel, int64_t first) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t step = row.in_step, depth = panel.depth;
  V sum[kR][kVectors];
  DTNN_UNROLL
  for (int i = 0; i < kR; ++i) {
    DTNN_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  for (int64_t t = 0; t < row.tap_count; ++t) {
    // One pointer for three rows: pointer, pointer + step, pointer + 2 * step are addressing modes.
    constexpr int kBases = (kR + 2) / 3;
    const T* base[kBases];
    DTNN_UNROLL
    for (int i = 0; i < kBases; ++i) base[i] = row.in + (first + 3 * i) * step + row.taps[t].in;
    const T* HWY_RESTRICT filter = panel.filter + row.taps[t].filter * kVectors * lanes;
    for (int64_t k = depth; k > 0; --k) {
      V w[kVectors];
      DTNN_UNROLL
      for (int v = 0; v < kVectors; ++v) w[v] = hn::Load(d, filter + v * lanes);
      DTNN_UNROLL
      for (int i = 0; i < kR; ++i) {
        const V x = hn::Set(d, base[i / 3][i % 3 * step]);
        DTNN_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(x, w[v], sum[i][v]);
      }
      DTNN_UNROLL
      for (int i = 0; i < kBases; ++i) ++base[i];
      filter += kVectors * lanes;
    }
  }
  DTNN_UNROLL
  for (int i = 0; i < kR; ++i) {
    T* const out = row.out + (first + i) * row.out_step;
    const T* const addend =
        row.addend == nullptr ? nullptr : row.addend + (first + i) * row.addend_step;
    DTNN_UNROLL
    for (int v = 0; v < kVectors; ++v) Write(d, sum[i][v], panel, v * lanes, out, addend);
  }
}

template <typename T, int kC, int kVectors>
HWY_NOINLINE void RunFilterBlock(const FilterBlock<T>& block) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t x_step = block.x_pixel, dy_step = block.dy_pixel;
  V sum[kC][kVectors];
  DTNN_UNROLL
  for (int i = 0; i < kC; ++i) {
    DTNN_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      sum[i][v] =
          block.accumulate ? hn::LoadU(d, block.out + i * block.pitch + v * lanes) : hn::Zero(d);
    }
  }
  for (int64_t n = 0; n < block.images; ++n) {
    for (int64_t r = 0; r < block.rows; ++r) {
      const T* HWY_RESTRICT x = block.x + n * block.x_image + r * block.x_row;
      const T* HWY_RESTRICT dy = block.dy + n * block.dy_image + r * block.dy_row;
      for (int64_t p = block.pixels; p > 0; --p, x += x_step, dy += dy_step) {
        V g[kVectors];
        DTNN_UNROLL
        for (int v = 0; v < kVectors; ++v) g[v] = hn::LoadU(d, dy + v * lanes);
        DTNN_UNROLL
        for (int i = 0; i < kC; ++i) {
          const V value = hn::Set(d, x[i]);
          DTNN_UNROLL
          for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(value, g[v], sum[i][v]);
        }
      }
    }
  }
  DTNN_UNROLL
  for (int i = 0; i < kC; ++i) {
    DTNN_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[i][v], d, block.out + i * block.pitch + v * lanes);
    }
  }
}

// Calls the instantiation for `rows`, one of 1..MaxRows.
template <typename T, int kVectors, int kR = MaxRows<kVectors>()>
HWY_INLINE void TileOfRows(int64_t rows, const RowOfPixels<T>& row, const Panel<T>& panel,
                           int64_t first) {
  if constexpr (kR > 1) {
    if (rows < kR) return TileOfRows<T, kVectors, kR - 1>(rows, row, panel, first);
  }
  RunTile<T, kR, kVectors>(row, panel, first);
}

// Tiles of about equal size: a small one at the end would wait for its few sums.
template <typename T, int kVectors>
void MultiplyRow(const RowOfPixels<T>& row, const Panel<T>& panel) {
  constexpr int64_t kMost = MaxRows<kVectors>();
  const int64_t tiles = (row.count + kMost - 1) / kMost;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t first = row.count * i / tiles, last = row.count * (i + 1) / tiles;
    TileOfRows<T, kVectors>(last - first, row, panel, first);
  }
}

// Calls the instantiation for the block's channels, one of 1..MaxChannels.
template <typename T, int kVectors, int kC = MaxChannels<kVectors>()>
HWY_INLINE void FilterBlockOfChannels(const FilterBlock<T>& block) {
  if constexpr (kC > 1) {
    if (block.channels < kC) return FilterBlockOfChannels<T, kVectors, kC - 1>(block);
  }
  RunFilterBlock<T, kC, kVectors>(block);
}

template <typename T>
void Multiply(const RowOfPixels<T>& row, const Panel<T>& panel) {
  if (panel.width > int64_t(hn::Lanes(hn::ScalableTag<T>()))) {
    MultiplyRow<T, 2>(row, panel);
  } else {
    MultiplyRow<T, 1>(row, panel);
  }
}

template <typename T>
void RunBlock(const FilterBlock<T>& block) {
  if (block.width > int64_t(hn::Lanes(hn::ScalableTag<T>()))) {
    FilterBlockOfChannels<T, 2>(block);
  } else {
    FilterBlockOfChannels<T, 1>(block);
  }
}

template <typename T>
void AddRows(const T* x, int64_t rows, int64_t columns, int64_t pitch, T* sums) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    auto sum = hn::LoadU(d, sums + j);
    for (int64_t p = 0; p < rows; ++p) sum = hn::Add(sum, hn::LoadU(d, x + p * pitch + j));
    hn::StoreU(sum, d, sums + j);
  }
  for (; j < columns; ++j) {
    T sum = sums[j];
    for (int64_t p = 0; p < rows; ++p) sum += x[p * pitch + j];
    sums[j] = sum;
  }
}

template <typename T>
const Kernels<T>* Table() {
  static const Kernels<T> table = {int64_t(hn::Lanes(hn::ScalableTag<T>())),
                                   MaxChannels<2>(),
                                   MaxChannels<1>() / MaxChannels<2>(),
                                   &Multiply<T>,
                                   &RunBlock<T>,
                                   &AddRows<T>};
  return &table;
}

const Kernels<float>* FloatTable() { return Table<float>(); }
const Kernels<double>* DoubleTable() { return Table<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::conv::gemm {
namespace {
HWY_EXPORT(FloatTable);
HWY_EXPORT(DoubleTable);
}  // namespace

template <>
const Kernels<float>& CpuKernels<float>() {
  return *HWY_DYNAMIC_DISPATCH(FloatTable)();
}
template <>
const Kernels<double>& CpuKernels<double>() {
  return *HWY_DYNAMIC_DISPATCH(DoubleTable)();
}

}  // namespace dtnn::conv::gemm
#endif  // HWY_ONCE
