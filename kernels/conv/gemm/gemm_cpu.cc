#include "kernels/conv/gemm/gemm_cpu.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/gemm/gemm_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/relu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::gemm {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::Rectify;

// 12 rows x 2 vectors of sums, 2 of filter and a broadcast fill 32 registers; 6 rows fill 16.
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

template <typename T, int kR, bool kTwo>
HWY_NOINLINE void RunTile(const Tile<T>& tile, const Panel<T>& panel) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), width = kTwo ? 2 * lanes : lanes;
  const int64_t depth = panel.depth;
#define DTNN_DECLARE(i)                         \
  [[maybe_unused]] auto first##i = hn::Zero(d); \
  [[maybe_unused]] auto second##i = hn::Zero(d);
  DTNN_FOR_ROWS(DTNN_DECLARE)
#undef DTNN_DECLARE
  for (int64_t segment = 0; segment < tile.segments; ++segment) {
    const T* const* pointers = tile.pointers + segment * kMaxRows;
    const T* filter = panel.filter + tile.offsets[segment] * width;
#define DTNN_POINT(i) [[maybe_unused]] const T* x##i = pointers[i < kR ? i : 0];
    DTNN_FOR_ROWS(DTNN_POINT)
#undef DTNN_POINT
    for (int64_t k = 0; k < depth; ++k, filter += width) {
      const auto w0 = hn::Load(d, filter);
      [[maybe_unused]] auto w1 = w0;
      if constexpr (kTwo) w1 = hn::Load(d, filter + lanes);
#define DTNN_STEP(i)                                              \
  if constexpr (i < kR) {                                         \
    const auto x = hn::Set(d, x##i[k]);                           \
    first##i = hn::MulAdd(x, w0, first##i);                       \
    if constexpr (kTwo) second##i = hn::MulAdd(x, w1, second##i); \
  }
      DTNN_FOR_ROWS(DTNN_STEP)
#undef DTNN_STEP
    }
  }
#define DTNN_WRITE(i)                                                                   \
  if constexpr (i < kR) {                                                               \
    Write(d, first##i, panel, 0, tile.out[i], tile.addend[i]);                          \
    if constexpr (kTwo) Write(d, second##i, panel, lanes, tile.out[i], tile.addend[i]); \
  }
  DTNN_FOR_ROWS(DTNN_WRITE)
#undef DTNN_WRITE
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

// Calls the instantiation for `rows`, one of 1..kRows.
template <typename T, bool kTwo, int kR = kRows>
HWY_INLINE void TileOfRows(const Tile<T>& tile, const Panel<T>& panel) {
  if constexpr (kR > 1) {
    if (tile.rows < kR) return TileOfRows<T, kTwo, kR - 1>(tile, panel);
  }
  RunTile<T, kR, kTwo>(tile, panel);
}

template <typename T, bool kTwo, int kR = kRows>
HWY_INLINE void FilterBlockOfRows(const FilterBlock<T>& block) {
  if constexpr (kR > 1) {
    if (block.rows < kR) return FilterBlockOfRows<T, kTwo, kR - 1>(block);
  }
  RunFilterBlock<T, kR, kTwo>(block);
}

template <typename T>
void Tiles(const Tile<T>* tiles, int64_t count, const Panel<T>& panel) {
  const bool two = panel.width > int64_t(hn::Lanes(hn::ScalableTag<T>()));
  for (int64_t i = 0; i < count; ++i) {
    if (two) {
      TileOfRows<T, true>(tiles[i], panel);
    } else {
      TileOfRows<T, false>(tiles[i], panel);
    }
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
  static const Kernels<T> table = {int64_t(hn::Lanes(hn::ScalableTag<T>())), kRows, &Tiles<T>,
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
