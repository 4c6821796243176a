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
#define DTNN_UNROLL _Pragma("GCC unroll 16")
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

// Of a filter block, whose loads of dy take registers too.
constexpr int kRows = HWY_MAX_BYTES == 64 ? 12 : 6;

// Sums must be named variables: compilers keep arrays of vectors in memory.
#define DTNN_FOR_ROWS(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)

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

template <typename T, int kR, bool kTwo>
HWY_NOINLINE void RunFilterBlock(const FilterBlock<T>& block) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
#define DTNN_DECLARE(i)                         \
  [[maybe_unused]] auto first##i = hn::Zero(d); \
  [[maybe_unused]] auto second##i = hn::Zero(d);
  DTNN_FOR_ROWS(DTNN_DECLARE)
#undef DTNN_DECLARE
  if (block.accumulate) {
#define DTNN_LOAD(i)                                                                   \
  if constexpr (i < kR) {                                                              \
    first##i = hn::LoadU(d, block.out + i * block.pitch);                              \
    if constexpr (kTwo) second##i = hn::LoadU(d, block.out + i * block.pitch + lanes); \
  }
    DTNN_FOR_ROWS(DTNN_LOAD)
#undef DTNN_LOAD
  }
  for (int64_t p = 0; p < block.pixels; ++p) {
    const T* x_row = block.x[p] + block.x_offset;
    const T* dy_row = block.dy[p] + block.dy_offset;
    const auto w0 = hn::LoadU(d, dy_row);
    [[maybe_unused]] auto w1 = w0;
    if constexpr (kTwo) w1 = hn::LoadU(d, dy_row + lanes);
#define DTNN_STEP(i)                                              \
  if constexpr (i < kR) {                                         \
    const auto x = hn::Set(d, x_row[i]);                          \
    first##i = hn::MulAdd(x, w0, first##i);                       \
    if constexpr (kTwo) second##i = hn::MulAdd(x, w1, second##i); \
  }
    DTNN_FOR_ROWS(DTNN_STEP)
#undef DTNN_STEP
  }
#define DTNN_STORE(i)                                                                  \
  if constexpr (i < kR) {                                                              \
    hn::StoreU(first##i, d, block.out + i * block.pitch);                              \
    if constexpr (kTwo) hn::StoreU(second##i, d, block.out + i * block.pitch + lanes); \
  }
  DTNN_FOR_ROWS(DTNN_STORE)
#undef DTNN_STORE
}
#undef DTNN_FOR_ROWS

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

template <typename T, bool kTwo, int kR = kRows>
HWY_INLINE void FilterBlockOfRows(const FilterBlock<T>& block) {
  if constexpr (kR > 1) {
    if (block.rows < kR) return FilterBlockOfRows<T, kTwo, kR - 1>(block);
  }
  RunFilterBlock<T, kR, kTwo>(block);
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
    FilterBlockOfRows<T, true>(block);
  } else {
    FilterBlockOfRows<T, false>(block);
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
  static const Kernels<T> table = {int64_t(hn::Lanes(hn::ScalableTag<T>())), kRows, &Multiply<T>,
                                   &RunBlock<T>, &AddRows<T>};
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
