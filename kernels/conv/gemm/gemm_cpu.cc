#include "kernels/conv/gemm/gemm_cpu.h"

#include <cstdint>
#include <utility>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/gemm/gemm_cpu.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h: these are compiled once per instruction set.
#include "kernels/elementwise/relu-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/simd/kernel_tables.h"
#include "kernels/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::gemm {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::LoadFirst;
using dtnn::HWY_NAMESPACE::Rectify;
using dtnn::HWY_NAMESPACE::StoreFirst;

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

// While it multiplies, a tile prefetches its outputs and, where `row.prefetch` says so, the inputs
// of the next tile: the processor's own prefetcher does not follow them.
template <typename T, int kR, int kVectors>
HWY_NOINLINE void RunTile(const RowOfPixels<T>& row, const Panel<T>& panel, int64_t first) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t step = row.in_step, depth = panel.depth;
  const int64_t next_step = row.prefetch ? step : 0;
  V sum[kR][kVectors];
  DTNN_UNROLL(32)
  for (int i = 0; i < kR; ++i) {
    DTNN_UNROLL(32)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  const T* const out_begin = row.out + first * row.out_step + panel.out_channel;
  const T* out = out_begin;
  // The depth of one of several taps, or a line of the only one.
  const int64_t run = row.tap_count > 1 ? depth : kLine;
  const int64_t runs = row.tap_count * ((depth + run - 1) / run);
  int64_t due = 0;  // rows of the output to be called, in units of 1 / runs
  for (int64_t t = 0; t < row.tap_count; ++t) {
    // One pointer for three rows: pointer, pointer + step, pointer + 2 * step are addressing modes.
    constexpr int kBases = (kR + 2) / 3;
    const T* base[kBases];
    DTNN_UNROLL(32)
    for (int i = 0; i < kBases; ++i) base[i] = row.in + (first + 3 * i) * step + row.taps[t].in;
    const T* HWY_RESTRICT filter = panel.filter + row.taps[t].filter * kVectors * lanes;
    for (int64_t left = depth; left > 0; left -= run) {
      for (due += kR; due >= runs; due -= runs, out += row.out_step) {
        DTNN_UNROLL(32)
        for (int v = 0; v < kVectors; ++v) hwy::Prefetch(out + v * lanes);
      }
      const T* next = base[0] + kR * step;
      for (int64_t k = HWY_MIN(left, run); k > 0; --k, next += next_step) {
        hwy::Prefetch(next);
        V w[kVectors];
        DTNN_UNROLL(32)
        for (int v = 0; v < kVectors; ++v) w[v] = hn::Load(d, filter + v * lanes);
        DTNN_UNROLL(32)
        for (int i = 0; i < kR; ++i) {
          const V x = hn::Set(d, base[i / 3][i % 3 * step]);
          DTNN_UNROLL(32)
          for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(x, w[v], sum[i][v]);
        }
        DTNN_UNROLL(32)
        for (int i = 0; i < kBases; ++i) ++base[i];
        filter += kVectors * lanes;
      }
    }
  }
  // Each question is asked once for the whole tile: for short sums they cost as much as the sums.
  const auto count = size_t(panel.out_channels - (kVectors - 1) * lanes);  // of the last vector
  const auto last = hn::FirstN(d, count);
  const bool whole = int64_t(count) == lanes;
  const auto in_tile = [&](auto&& change) HWY_ATTR {
    DTNN_UNROLL(32)
    for (int v = 0; v < kVectors; ++v) {
      DTNN_UNROLL(32)
      for (int i = 0; i < kR; ++i) change(i, v);
    }
  };
  if (panel.scale != nullptr) {
    in_tile([&](int i, int v) HWY_ATTR {
      sum[i][v] = hn::Mul(sum[i][v], hn::LoadU(d, panel.scale + v * lanes));
    });
  }
  if (panel.bias != nullptr) {
    in_tile([&](int i, int v)
                HWY_ATTR { sum[i][v] = hn::Add(sum[i][v], hn::LoadU(d, panel.bias + v * lanes)); });
  }
  if (row.addend != nullptr) {
    const T* const addend = row.addend + first * row.addend_step + panel.out_channel;
    in_tile([&](int i, int v) HWY_ATTR {
      const T* const from = addend + i * row.addend_step + v * lanes;
      sum[i][v] = hn::Add(sum[i][v], whole || v + 1 < kVectors ? hn::LoadU(d, from)
                                                               : LoadFirst(d, last, count, from));
    });
  }
  if (panel.relu) {
    in_tile([&](int i, int v) HWY_ATTR { sum[i][v] = Rectify(d, sum[i][v]); });
  }
  T* const to = row.out + first * row.out_step + panel.out_channel;
  const int64_t out_step = row.out_step;
  if (whole) {
    in_tile([&](int i, int v)
                HWY_ATTR { hn::StoreU(sum[i][v], d, to + i * out_step + v * lanes); });
  } else {
    in_tile([&](int i, int v) HWY_ATTR {
      if (v + 1 < kVectors) {
        hn::StoreU(sum[i][v], d, to + i * out_step + v * lanes);
      } else {
        StoreFirst(d, sum[i][v], last, count, to + i * out_step + v * lanes);
      }
    });
  }
}

// Sums of neighbours: those of `a`, and behind them those of `b`.
template <class D, class V>
HWY_INLINE V AddNeighbours(D d, V a, V b) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Add(a, b);  // no vector has neighbours
#else
  return hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
#endif
}

// The sums of the lanes of each of kN vectors, at most as many as a vector has lanes, in the first
// lanes of the result. kParts: lanes that a sum is spread over. The order of a sum is always the
// same.
template <int kN, int kParts, class D, class V>
HWY_INLINE V SumsOfLanes(D d, const V* v) {
  if constexpr (kParts == 1) {
    return v[0];
  } else {
    constexpr int kPairs = (kN + 1) / 2;
    V pairs[kPairs];
    DTNN_UNROLL(16)
    for (int i = 0; i < kPairs; ++i) {
      pairs[i] = AddNeighbours(d, v[2 * i], v[HWY_MIN(2 * i + 1, kN - 1)]);
    }
    return SumsOfLanes<kPairs, kParts / 2>(d, pairs);
  }
}

// Writes the sums of the lanes of kN vectors, and room for a vector behind them.
template <int kN, class D, class V>
HWY_INLINE void StoreSumsOfLanes(D d, const V* v, hn::TFromD<D>* sums) {
  constexpr int kLanes = int(hn::MaxLanes(d));
  constexpr int kFirst = HWY_MIN(kN, kLanes);
  hn::StoreU(SumsOfLanes<kFirst, kLanes>(d, v), d, sums);
  if constexpr (kN > kFirst) StoreSumsOfLanes<kN - kFirst>(d, v + kFirst, sums + kFirst);
}

// Vectors of the depth instead of output channels: kR pixels times kOutChannels channels of sums,
// whose lanes are added at the end.
template <typename T, int kR, int kOutChannels>
HWY_NOINLINE void RunDots(const RowOfPixels<T>& row, const Panel<T>& panel, int64_t first_row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = int64_t(hn::Lanes(d)), depth = panel.depth, whole = depth / lanes * lanes;
  const auto count = size_t(depth - whole);
  const auto first = hn::FirstN(d, count);
  V sum[kR][kOutChannels];
  DTNN_UNROLL(32)
  for (int i = 0; i < kR; ++i) {
    DTNN_UNROLL(32)
    for (int c = 0; c < kOutChannels; ++c) sum[i][c] = hn::Zero(d);
  }
  const auto add = [&](const T* filter, const auto& load) HWY_ATTR {
    V w[kOutChannels];
    DTNN_UNROLL(32)
    for (int c = 0; c < kOutChannels; ++c) w[c] = hn::LoadU(d, filter + c * lanes);
    DTNN_UNROLL(32)
    for (int i = 0; i < kR; ++i) {
      const V x = load(i);
      DTNN_UNROLL(32)
      for (int c = 0; c < kOutChannels; ++c) sum[i][c] = hn::MulAdd(x, w[c], sum[i][c]);
    }
  };
  for (int64_t t = 0; t < row.tap_count; ++t) {
    const T* const in = row.in + first_row * row.in_step + row.taps[t].in;
    const T* filter = panel.filter + row.taps[t].filter * kOutChannels;
    int64_t k = 0;
    for (; k < whole; k += lanes, filter += kOutChannels * lanes) {
      add(filter, [&](int i) HWY_ATTR { return hn::LoadU(d, in + i * row.in_step + k); });
    }
    if (k < depth) {
      add(filter,
          [&](int i) HWY_ATTR { return LoadFirst(d, first, count, in + i * row.in_step + k); });
    }
  }
  T values[kR * kOutChannels + hn::MaxLanes(d)];
  StoreSumsOfLanes<kR * kOutChannels>(d, &sum[0][0], values);
  // As in RunTile, each question is asked once.
  const auto for_each = [&](auto&& change) HWY_ATTR {
    for (int i = 0; i < kR; ++i) {
      for (int c = 0; c < kOutChannels; ++c) change(values[i * kOutChannels + c], i, c);
    }
  };
  if (panel.scale != nullptr) for_each([&](T& value, int, int c) { value *= panel.scale[c]; });
  if (panel.bias != nullptr) for_each([&](T& value, int, int c) { value += panel.bias[c]; });
  if (row.addend != nullptr) {
    const T* const addend = row.addend + first_row * row.addend_step;
    for_each([&](T& value, int i, int c) { value += addend[i * row.addend_step + c]; });
  }
  if (panel.relu) for_each([](T& value, int, int) { value = value < 0 ? T(0) : value; });
  T* const out = row.out + first_row * row.out_step;
  for_each([&](T& value, int i, int c) { out[i * row.out_step + c] = value; });
}

template <typename T, int kOutChannels>
void MultiplyFewOutChannels(const RowOfPixels<T>& row, const Panel<T>& panel) {
  // Sums, the filter's vectors and one of the input fill the registers.
  constexpr int kRegisters = HWY_TARGET <= HWY_AVX3 ? 32 : 16;
  constexpr int kMost = HWY_MIN(8, (kRegisters - 1) / kOutChannels - 1);
  int64_t i = 0;
  for (; i + kMost <= row.count; i += kMost) RunDots<T, kMost, kOutChannels>(row, panel, i);
  if (kMost > 4 && i + 4 <= row.count) {
    RunDots<T, 4, kOutChannels>(row, panel, i);
    i += 4;
  }
  for (; i < row.count; ++i) RunDots<T, 1, kOutChannels>(row, panel, i);
}

template <typename T, int kC, int kVectors>
HWY_NOINLINE void RunFilterBlock(const FilterBlock<T>& block) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t x_step = block.x_pixel, dy_step = block.dy_pixel,
                prefetch_step = block.prefetch_step;
  const T* prefetch = block.prefetch;
  V sum[kC][kVectors];
  DTNN_UNROLL(32)
  for (int i = 0; i < kC; ++i) {
    DTNN_UNROLL(32)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  for (int64_t n = 0; n < block.images; ++n) {
    for (int64_t r = 0; r < block.rows; ++r) {
      const T* HWY_RESTRICT x = block.x + n * block.x_image + r * block.x_row;
      const T* HWY_RESTRICT dy = block.dy + n * block.dy_image + r * block.dy_row;
      for (int64_t p = block.pixels; p > 0;
           --p, x += x_step, dy += dy_step, prefetch += prefetch_step) {
        __builtin_prefetch(prefetch, /*rw=*/0, /*locality=*/2);
        // With few sums a step is longer than a line.
        if constexpr (kVectors == 1) {
          __builtin_prefetch(prefetch + prefetch_step / 2, /*rw=*/0, /*locality=*/2);
        }
        V g[kVectors];
        DTNN_UNROLL(32)
        for (int v = 0; v < kVectors; ++v) g[v] = hn::LoadU(d, dy + v * lanes);
        DTNN_UNROLL(32)
        for (int i = 0; i < kC; ++i) {
          const V value = hn::Set(d, x[i]);
          DTNN_UNROLL(32)
          for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(value, g[v], sum[i][v]);
        }
      }
    }
  }
  DTNN_UNROLL(32)
  for (int i = 0; i < kC; ++i) {
    DTNN_UNROLL(32)
    for (int v = 0; v < kVectors; ++v) {
      T* const to = block.out + i * block.pitch + v * lanes;
      hn::StoreU(block.accumulate ? hn::Add(hn::LoadU(d, to), sum[i][v]) : sum[i][v], d, to);
    }
  }
}

template <typename T>
using RunTileOf = void (*)(const RowOfPixels<T>& row, const Panel<T>& panel, int64_t first);

// Those of 1, 2, ... rows.
template <typename T, int kVectors, int... kRows>
const RunTileOf<T>* TilesOf(std::integer_sequence<int, kRows...>) {
  static constexpr RunTileOf<T> kTiles[] = {&RunTile<T, kRows + 1, kVectors>...};
  return kTiles;
}

// Tiles of about equal size: a small one at the end would wait for its few sums.
template <typename T, int kVectors>
void MultiplyRow(const RowOfPixels<T>& row, const Panel<T>& panel) {
  constexpr int kMost = MaxRows<kVectors>();
  const RunTileOf<T>* const run = TilesOf<T, kVectors>(std::make_integer_sequence<int, kMost>());
  // In 32 bits, where a division takes a third of the time.
  if (row.count == 0) return;
  const auto count = uint32_t(row.count), tiles = (count + kMost - 1) / kMost;
  const uint32_t least = count / tiles;
  uint32_t larger = count - least * tiles;
  for (uint32_t first = 0; first < count;) {
    const uint32_t rows = least + (larger > 0 ? 1 : 0);
    larger -= larger > 0 ? 1 : 0;
    run[rows - 1](row, panel, first);
    first += rows;
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
void MultiplyFew(const RowOfPixels<T>& row, const Panel<T>& panel) {
  static_assert(kFewOutChannels == 4);
  switch (panel.out_channels) {
    case 1:
      return MultiplyFewOutChannels<T, 1>(row, panel);
    case 2:
      return MultiplyFewOutChannels<T, 2>(row, panel);
    case 3:
      return MultiplyFewOutChannels<T, 3>(row, panel);
    default:
      return MultiplyFewOutChannels<T, 4>(row, panel);
  }
}

// Rows, or images, that follow each other as pixels do are more pixels: the end of a loop costs as
// much as several of them.
template <typename T>
HWY_INLINE void MergePixels(FilterBlock<T>& block, int64_t& count, int64_t x_step,
                            int64_t dy_step) {
  if (count == 0) return;
  if (block.pixels == 1) {
    block.x_pixel = x_step, block.dy_pixel = dy_step;
  } else if (x_step != block.pixels * block.x_pixel || dy_step != block.pixels * block.dy_pixel) {
    return;
  }
  block.pixels *= count;
  count = 1;
}

template <typename T>
void RunBlock(const FilterBlock<T>& given) {
  FilterBlock<T> block = given;
  MergePixels(block, block.rows, block.x_row, block.dy_row);
  if (block.rows == 1) MergePixels(block, block.images, block.x_image, block.dy_image);
  if (block.width > int64_t(hn::Lanes(hn::ScalableTag<T>()))) {
    FilterBlockOfChannels<T, 2>(block);
  } else {
    FilterBlockOfChannels<T, 1>(block);
  }
}

template <typename T>
void AddRows(const T* x, int64_t rows, int64_t channels, int64_t pitch, T* sums) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t j = 0;
  // Vectors together, which do not wait for each other's sums.
  const auto add = [&](auto vectors) HWY_ATTR {
    constexpr int kV = vectors;
    for (; j + kV * lanes <= channels; j += kV * lanes) {
      hn::Vec<decltype(d)> sum[kV];
      DTNN_UNROLL(8)
      for (int v = 0; v < kV; ++v) sum[v] = hn::Zero(d);
      const T* from = x + j;
      for (int64_t p = rows; p > 0; --p, from += pitch) {
        DTNN_UNROLL(8)
        for (int v = 0; v < kV; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, from + v * lanes));
      }
      DTNN_UNROLL(8)
      for (int v = 0; v < kV; ++v) {
        T* const to = sums + j + v * lanes;
        hn::StoreU(hn::Add(hn::LoadU(d, to), sum[v]), d, to);
      }
    }
  };
  add(std::integral_constant<int, 8>());
  add(std::integral_constant<int, 2>());
  add(std::integral_constant<int, 1>());
  for (; j < channels; ++j) {
    T sum = 0;
    for (int64_t p = 0; p < rows; ++p) sum += x[p * pitch + j];
    sums[j] += sum;
  }
}

// `pixels` vectors, or where `count` is less than a vector the first elements of them and zeros.
template <typename T>
HWY_INLINE void CopyVectors(const T* from, int64_t from_step, T* to, int64_t to_step,
                            int64_t pixels, int64_t count) {
  const hn::ScalableTag<T> d;
  if (count >= int64_t(hn::Lanes(d))) {
    for (int64_t p = 0; p < pixels; ++p) {
      hn::StoreU(hn::LoadU(d, from + p * from_step), d, to + p * to_step);
    }
  } else {
    const auto first = hn::FirstN(d, size_t(count));
    for (int64_t p = 0; p < pixels; ++p) {
      hn::StoreU(LoadFirst(d, first, size_t(count), from + p * from_step), d, to + p * to_step);
    }
  }
}

template <typename T>
void CopyPanels(const PixelCopy<T>& job) {
  constexpr int64_t kTogether = 16;  // pixels that stay in the L1 cache
  const int64_t lanes = int64_t(hn::Lanes(hn::ScalableTag<T>()));
  for (int64_t begin = 0; begin < job.pixels; begin += kTogether) {
    const int64_t pixels = HWY_MIN(kTogether, job.pixels - begin);
    const T* const from = job.from + begin * job.from_pixel;
    T* to = job.to;
    for (int64_t f = 0; f < job.channels; f += job.width, to += job.panel) {
      const bool whole = f + job.width <= job.channels;
      const int64_t step = whole ? job.width : job.last_width;
      const int64_t channels = whole ? job.width : job.channels - f;
      T* const at = to + (job.first + begin) * step;
      // Backwards, since the last vector overwrites the beginning of the next pixel.
      for (int64_t j = (channels - 1) / lanes * lanes; j >= 0; j -= lanes) {
        CopyVectors(from + f + j, job.from_pixel, at + j, step, pixels, job.channels - (f + j));
      }
    }
  }
}

template <typename T>
const Kernels<T>* Table() {
  static const Kernels<T> table = {int64_t(hn::Lanes(hn::ScalableTag<T>())),
                                   MaxChannels<2>(),
                                   MaxChannels<1>() / MaxChannels<2>(),
                                   &Multiply<T>,
                                   &MultiplyFew<T>,
                                   &RunBlock<T>,
                                   &AddRows<T>,
                                   &CopyPanels<T>};
  return &table;
}

DTNN_KERNEL_TABLES(Kernels, Table, (), ())

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::conv::gemm {

DTNN_EXPORT_KERNEL_TABLES(Kernels, CpuKernels, (), ())

}  // namespace dtnn::conv::gemm
#endif  // HWY_ONCE
