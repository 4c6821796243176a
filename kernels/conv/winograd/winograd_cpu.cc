#include "kernels/conv/winograd/winograd_cpu.h"

#include <algorithm>
#include <cstdlib>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd/winograd_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h: these are compiled once per instruction set.
#include "kernels/conv/winograd/transform-inl.h"
#include "kernels/elementwise/relu-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/simd/kernel_tables.h"
#include "kernels/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::winograd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::kTileVectors;
using dtnn::HWY_NAMESPACE::LoadFirst;
using dtnn::HWY_NAMESPACE::MaxTileRows;
using dtnn::HWY_NAMESPACE::Rectify;
using dtnn::HWY_NAMESPACE::StoreFirst;
using dtnn::HWY_NAMESPACE::Strip;
using dtnn::HWY_NAMESPACE::TileRows;

// Windows are read and written in pieces that the processor's own prefetcher does not follow: they
// are prefetched so many tiles before their turn.
constexpr int64_t kPrefetchTiles = 2;

template <typename T>
HWY_INLINE void PrefetchWindow(const T* data, int rows, int columns, int64_t row, int64_t pixel,
                               int64_t channels) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const T* at = data + i * row + j * pixel;
      for (int64_t c = 0; c < channels; c += kLine) hwy::Prefetch(at + c);
    }
  }
}

// What exists of one vector of channels of a window, `count` of them, into a tile without gaps.
template <int kExtent, class D, typename T>
HWY_NOINLINE void CopyWindow(D d, const InWindow<T>& window, int64_t row, int64_t pixel,
                             int64_t channel, size_t count, T* HWY_RESTRICT tile) {
  const size_t lanes = hn::Lanes(d);
  const hn::Mask<D> first = hn::FirstN(d, count);
  const T* from = window.data + channel;
  for (int i = window.top; i < window.bottom; ++i, from += row) {
    const T* at = from;
    T* HWY_RESTRICT to = tile + size_t(i * kExtent + window.left) * lanes;
    if (count == lanes) {
      for (int j = window.left; j < window.right; ++j, at += pixel, to += lanes) {
        hn::Store(hn::LoadU(d, at), d, to);
      }
    } else {
      for (int j = window.left; j < window.right; ++j, at += pixel, to += lanes) {
        hn::Store(LoadFirst(d, first, count, at), d, to);
      }
    }
  }
}

// Calls transform(read, tile) for each vector of channels of each window, where read(i, j) is an
// element of the window of kExtent x kExtent, and tile is where the first element of the
// transformed tile goes.
template <int kExtent, typename T, class Transform>
HWY_INLINE void ForWindows(const ToTiles<T>& job, const Transform& transform) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), channels = job.channels;
  const int64_t panel = job.panel == 0 ? channels + lanes : job.panel;
  // What does not exist stays zero from window to window of the same shape.
  HWY_ALIGN T copy[kExtent * kExtent * hn::MaxLanes(d)];
  InWindow<T> copied = {.bottom = -1};
  for (int64_t t = 0; t < job.count; ++t) {
    const InWindow<T>& window = job.windows[t];
    const bool whole =
        window.bottom - window.top == kExtent && window.right - window.left == kExtent;
    if ((!whole || channels % lanes != 0) &&
        (window.top != copied.top || window.bottom != copied.bottom || window.left != copied.left ||
         window.right != copied.right)) {
      std::fill_n(copy, kExtent * kExtent * size_t(lanes), T(0));
      copied = window;
    }
    T* tile = job.tiles.data + t * job.tiles.tile;
    int64_t left = panel;
    for (int64_t c = 0; c < channels; c += lanes, tile += lanes, left -= lanes) {
      if (left == 0) {
        tile += job.panel_step - panel;
        left = panel;
      }
      const int64_t channel = job.first_channel + c;
      const T* from = window.data + channel;
      int64_t row = job.row, pixel = job.pixel;
      if (!whole || c + lanes > channels) {
        CopyWindow<kExtent>(d, window, row, pixel, channel, size_t(std::min(lanes, channels - c)),
                            copy);
        from = copy;
        pixel = lanes;
        row = kExtent * lanes;
      }
      transform([&](int i, int j) HWY_ATTR { return hn::LoadU(d, from + i * row + j * pixel); },
                tile, c);
    }
  }
}

template <int kPoints, typename T>
void InToTiles(const ToTiles<T>& job) {
  const hn::ScalableTag<T> d;
  const int64_t step = job.tiles.element;
  ForWindows<kPoints>(job, [&](const auto& read, T* tile, int64_t) HWY_ATTR {
    TransformData<kPoints>(d, read, [&](int i, int j, auto v) HWY_ATTR {
      hn::Store(v, d, tile + (i * kPoints + j) * step);
    });
  });
}

template <int kPoints, int kOutputs, typename T>
void GradientToTiles(const ToTiles<T>& job) {
  const hn::ScalableTag<T> d;
  const int64_t step = job.tiles.element;
  ForWindows<kOutputs>(job, [&](const auto& read, T* tile, int64_t c) HWY_ATTR {
    if (job.sums != nullptr) {
      auto sum = hn::Zero(d);
      DTNN_UNROLL(8)
      for (int i = 0; i < kOutputs; ++i) {
        DTNN_UNROLL(8)
        for (int j = 0; j < kOutputs; ++j) sum = hn::Add(sum, read(i, j));
      }
      hn::StoreU(hn::Add(hn::LoadU(d, job.sums + c), sum), d, job.sums + c);
    }
    Evaluate<kPoints, kOutputs>(d, read, [&](int i, int j, auto v) HWY_ATTR {
      hn::Store(v, d, tile + (i * kPoints + j) * step);
    });
  });
}

// What the epilogue makes of one vector of a pixel.
template <class D, typename T, class V = hn::Vec<D>>
HWY_INLINE V Finish(D d, V v, const FromTiles<T>& job, V scale, V bias) {
  v = hn::MulAdd(v, scale, bias);
  return job.relu ? Rectify(d, v) : v;
}

// Some columns of a window, out of a tile without gaps.
template <int kExtent, class D, typename T, class V = hn::Vec<D>>
HWY_NOINLINE void WriteWindow(D d, const T* tile, const FromTiles<T>& job,
                              const OutWindow<T>& window, int64_t channel, size_t count, V scale,
                              V bias) {
  const size_t lanes = hn::Lanes(d);
  const hn::Mask<D> first = hn::FirstN(d, count);
  for (int i = 0; i < window.rows; ++i) {
    for (int j = 0; j < window.columns; ++j) {
      V v = hn::Load(d, tile + size_t(i * kExtent + j) * lanes), offset = bias;
      if (window.addend != nullptr) {
        const T* from = window.addend + i * job.addend_row + j * job.addend_pixel + channel;
        const V addend = count == lanes ? hn::LoadU(d, from) : LoadFirst(d, first, count, from);
        offset = hn::Add(offset, addend);
      }
      v = Finish(d, v, job, scale, offset);
      T* to = window.data + i * job.row + j * job.pixel + channel;
      if (count == lanes) {
        hn::StoreU(v, d, to);
      } else {
        StoreFirst(d, v, first, count, to);
      }
    }
  }
}

template <int kPoints, int kOutputs, typename T>
void TilesToOut(const FromTiles<T>& job) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), channels = job.channels, step = job.tiles.element;
  HWY_ALIGN T copy[kOutputs * kOutputs * hn::MaxLanes(d)];
  for (int64_t t = 0; t < job.count; ++t) {
    const OutWindow<T>& window = job.windows[t];
    const bool whole = window.rows == kOutputs && window.columns == kOutputs;
    if (t + kPrefetchTiles < job.count) {
      const OutWindow<T>& next = job.windows[t + kPrefetchTiles];
      PrefetchWindow(next.data + job.first_channel, next.rows, next.columns, job.row, job.pixel,
                     channels);
    }
    for (int64_t c = 0; c < channels; c += lanes) {
      const int64_t channel = job.first_channel + c;
      const auto scale =
          job.scale == nullptr ? hn::Set(d, T(1)) : hn::LoadU(d, job.scale + channel);
      const auto bias = job.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, job.bias + channel);
      const T* from = job.tiles.data + t * job.tiles.tile + c;
      const auto element = [&](int i, int j)
                               HWY_ATTR { return hn::Load(d, from + (i * kPoints + j) * step); };
      if (!whole || c + lanes > channels || window.addend != nullptr) {
        TransformBack<kPoints, kOutputs>(d, element, [&](int i, int j, auto v) HWY_ATTR {
          hn::Store(v, d, copy + (i * kOutputs + j) * lanes);
        });
        WriteWindow<kOutputs>(d, copy, job, window, channel, size_t(std::min(lanes, channels - c)),
                              scale, bias);
      } else {
        T* to = window.data + channel;
        TransformBack<kPoints, kOutputs>(d, element, [&](int i, int j, auto v) HWY_ATTR {
          hn::StoreU(Finish(d, v, job, scale, bias), d, to + i * job.row + j * job.pixel);
        });
      }
    }
  }
}

// G g G^T.
template <int kPoints, int kTaps, typename T>
void FilterToTiles(const FilterTransform<T>& job) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t k = 0; k < job.count; ++k) {
    for (int tap = 0; tap < kTaps * kTaps; ++tap) {
      const T* next = job.from + (k + 6) * job.from_row + tap * job.from_step;
      hwy::Prefetch(next);
      hwy::Prefetch(next + lanes);
    }
    for (int64_t column = 0; column < job.columns; column += lanes) {
      const T* from = job.from + k * job.from_row + column;
      T* to = job.to + k * job.to_row + column;
      Evaluate<kPoints, kTaps>(
          d,
          [&](int i, int j)
              HWY_ATTR { return hn::LoadU(d, from + (i * kTaps + j) * job.from_step); },
          [&](int i, int j, auto v) HWY_ATTR {
            const auto scale = hn::Set(d, T(kInverseNorms<kPoints>[size_t(i)][size_t(j)]));
            hn::StoreU(hn::Mul(v, scale), d, to + (i * kPoints + j) * job.to_step);
          });
    }
  }
}

// The norms of the points, which the transformed tiles of the outputs' gradient lack, are applied
// to the sums.
template <int kPoints, int kTaps, typename T>
void SumsToFilter(const FilterTransform<T>& job) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t k = 0; k < job.count; ++k) {
    for (int64_t column = 0; column < job.columns; column += lanes) {
      const T* from = job.from + k * job.from_row + column;
      T* to = job.to + k * job.to_row + column;
      TransformBack<kPoints, kTaps>(
          d,
          [&](int i, int j) HWY_ATTR {
            const auto scale = hn::Set(d, T(kInverseNorms<kPoints>[size_t(i)][size_t(j)]));
            return hn::Mul(hn::LoadU(d, from + (i * kPoints + j) * job.from_step), scale);
          },
          [&](int i, int j, auto v) HWY_ATTR {
            T* at = to + (i * kTaps + j) * job.to_step;
            hn::StoreU(job.accumulate ? hn::Add(hn::LoadU(d, at), v) : v, d, at);
          });
    }
  }
}

template <int kVectors, typename T>
void MultiplyBy(const Products<T>& job) {
  const hn::ScalableTag<T> d;
  for (int64_t e = 0; e < job.elements; ++e) {
    const Strip<T> strip = {.k = job.channels,
                            .b = job.filter + e * job.filter_element,
                            .b_stride = job.width,
                            .accumulate = job.accumulate,
                            .c_stride = job.out.tile,
                            .last_lanes = hn::Lanes(d)};
    TileRows<MaxTileRows<kVectors>(), kVectors, /*kByRows=*/true, /*kTailB=*/false,
             /*kTailC=*/false, /*kPrefetch=*/true>(d, strip, job.tiles,
                                                   job.in.data + e * job.in.element, job.in.tile,
                                                   job.out.data + e * job.out.element);
  }
}

template <typename T>
void Multiply(const Products<T>& job) {
  if (job.width > int64_t(hn::Lanes(hn::ScalableTag<T>()))) {
    MultiplyBy<2>(job);
  } else {
    MultiplyBy<1>(job);
  }
}

// Rows of the register tile: a divisor of most numbers of channels.
constexpr int kCorrelatedRows = std::min(8, MaxTileRows<kTileVectors>());

template <int kVectors, typename T>
void CorrelateBy(const Correlations<T>& job) {
  const hn::ScalableTag<T> d;
  for (int64_t e = 0; e < job.elements; ++e) {
    const Strip<T> strip = {.k = job.tiles,
                            .b = job.gradient.data + e * job.gradient.element,
                            .b_stride = job.gradient.tile,
                            .accumulate = job.accumulate,
                            .c_stride = job.width,
                            .last_lanes = hn::Lanes(d)};
    TileRows<kCorrelatedRows, kVectors, /*kByRows=*/false, /*kTailB=*/false, /*kTailC=*/false>(
        d, strip, job.channels, job.in.data + e * job.in.element, job.in.tile,
        job.out + e * job.out_element);
  }
}

template <typename T>
void Correlate(const Correlations<T>& job) {
  if (job.width > int64_t(hn::Lanes(hn::ScalableTag<T>()))) {
    CorrelateBy<2>(job);
  } else {
    CorrelateBy<1>(job);
  }
}

template <typename T, int kOutputs, int kTaps>
const Kernels<T>* Table() {
  constexpr int kPoints = kOutputs + kTaps - 1;
  static const Kernels<T> table = {
      .lanes = int64_t(hn::Lanes(hn::ScalableTag<T>())),
      .rows = MaxTileRows<kTileVectors>(),
      .in_to_tiles = &InToTiles<kPoints, T>,
      .tiles_to_out = &TilesToOut<kPoints, kOutputs, T>,
      .filter_to_tiles = &FilterToTiles<kPoints, kTaps, T>,
      .multiply = &Multiply<T>,
      .gradient_to_tiles = &GradientToTiles<kPoints, kOutputs, T>,
      .correlate = &Correlate<T>,
      .sums_to_filter = &SumsToFilter<kPoints, kTaps, T>,
  };
  return &table;
}

template <typename T>
const Kernels<T>* TableOf(Form form) {
  const auto is = [form](int outputs, int taps) {
    return form.outputs == outputs && form.taps == taps;
  };
  if (is(2, 3)) return Table<T, 2, 3>();
  if (is(4, 3)) return Table<T, 4, 3>();
  if (is(6, 3)) return Table<T, 6, 3>();
  if (is(2, 5)) return Table<T, 2, 5>();
  if (is(4, 5)) return Table<T, 4, 5>();
  std::abort();
}

DTNN_KERNEL_TABLES(Kernels, TableOf, (Form form), (form))

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::conv::winograd {

DTNN_EXPORT_KERNEL_TABLES(Kernels, CpuKernels, (Form form), (form))

}  // namespace dtnn::conv::winograd
#endif  // HWY_ONCE
