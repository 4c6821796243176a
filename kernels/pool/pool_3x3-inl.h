// 3x3 windows with stride 1, in pixels (NHWC): a few rows of one column at a time, so that what a
// row of three pixels yields serves all windows that hold it. Included once per target.

#if defined(DTNN_KERNELS_POOL_POOL_3X3_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_POOL_3X3_INL_H_
#undef DTNN_KERNELS_POOL_POOL_3X3_INL_H_
#else
#define DTNN_KERNELS_POOL_POOL_3X3_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/pool_cpu.h"
#include "kernels/pool/winners-inl.h"

// GCC unrolls loops over arrays of vectors only when told; rolled, the arrays live in memory.
#undef DTNN_UNROLL
#if HWY_COMPILER_GCC_ACTUAL
#define DTNN_UNROLL _Pragma("GCC unroll 8")
#else
#define DTNN_UNROLL _Pragma("unroll")
#endif

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

// Rows that go together.
inline constexpr int64_t kTileRows = 4;

// A maximum so far and its number in the window.
template <class D>
struct Leader {
  hn::Vec<D> value, number;

  // Later elements win only where they are larger, or not a number.
  HWY_INLINE void Consider(hn::Vec<D> v, hn::Vec<D> v_number) {
    const auto better = hn::Or(hn::Gt(v, value), hn::IsNaN(v));
    value = hn::IfThenElse(better, v, value);
    number = hn::IfThenElse(better, v_number, number);
  }
};

// Where the tile of outputs [row, row + kRows) of column `column` lies. Pitches in elements.
template <typename T>
struct Tile {
  int64_t height, top;  // of the image; the row of the first tap, which may lie outside
  int64_t down, right;
  Taps columns;
  const T* x;  // the pixel in row 0 of the image at the first tap inside it

  Tile(const PoolPass& pass, int64_t image, int64_t row, int64_t column)
      : height(pass.spec.height),
        top(row - pass.spec.padding.vertical),
        down(pass.spec.width * pass.in.pitch),
        right(pass.in.pitch),
        columns(ColumnTaps(pass.spec, column)),
        x(pass.in.At<const T>(image * height * pass.spec.width, 0) +
          (columns.origin + columns.begin) * right) {}
};

// `y` and `winners` are those of the first output; the others follow `y_down` and `winners_down`
// elements apart. winners may be null.
template <int64_t kRows, typename T>
HWY_INLINE void MaxTile(const Tile<T>& tile, int64_t channels, T* y, int64_t y_down,
                        uint8_t* winners, int64_t winners_down) {
  ForEachVector<T>(channels, [&](const auto& access, int64_t c) HWY_ATTR {
    const auto d = access.d;
    using D = std::decay_t<decltype(d)>;
    Leader<D> best[kRows];
    DTNN_UNROLL
    for (int64_t o = 0; o < kRows; ++o) best[o] = {hn::Zero(d), hn::Zero(d)};
    DTNN_UNROLL
    for (int64_t r = 0; r < kRows + 2; ++r) {
      const int64_t row = tile.top + r;
      if (row < 0 || row >= tile.height) continue;
      const T* x = tile.x + row * tile.down + c;
      const T first = T(tile.columns.begin);
      Leader<D> three = {access.Load(x), hn::Set(d, first)};
      if (tile.columns.count() > 1) {
        three.Consider(access.Load(x + tile.right), hn::Set(d, first + 1));
      }
      if (tile.columns.count() > 2) three.Consider(access.Load(x + 2 * tile.right), hn::Set(d, 2));
      DTNN_UNROLL
      for (int64_t o = 0; o < kRows; ++o) {
        if (r < o || r > o + 2) continue;
        const auto number = hn::Add(three.number, hn::Set(d, T(3 * (r - o))));
        if (o == r || row == 0) {
          best[o] = {three.value, number};
        } else {
          best[o].Consider(three.value, number);
        }
      }
    }
    DTNN_UNROLL
    for (int64_t o = 0; o < kRows; ++o) {
      access.Store(best[o].value, y + o * y_down + c);
      if (winners != nullptr) {
        StoreWinners<uint8_t>(access, best[o].number, winners, o * winners_down + c);
      }
    }
  });
}

template <int64_t kRows, typename T>
HWY_INLINE void MeanTile(const Tile<T>& tile, int64_t channels, T* y, int64_t y_down) {
  T elements[kRows];
  for (int64_t o = 0; o < kRows; ++o) {
    const int64_t begin = std::max<int64_t>(0, tile.top + o);
    elements[o] = T((std::min(tile.height, tile.top + o + 3) - begin) * tile.columns.count());
  }
  ForEachVector<T>(channels, [&](const auto& access, int64_t c) HWY_ATTR {
    const auto d = access.d;
    hn::Vec<std::decay_t<decltype(d)>> sums[kRows];
    DTNN_UNROLL
    for (int64_t o = 0; o < kRows; ++o) sums[o] = hn::Zero(d);
    DTNN_UNROLL
    for (int64_t r = 0; r < kRows + 2; ++r) {
      const int64_t row = tile.top + r;
      if (row < 0 || row >= tile.height) continue;
      const T* x = tile.x + row * tile.down + c;
      auto three = access.Load(x);
      if (tile.columns.count() > 1) three = hn::Add(three, access.Load(x + tile.right));
      if (tile.columns.count() > 2) three = hn::Add(three, access.Load(x + 2 * tile.right));
      DTNN_UNROLL
      for (int64_t o = 0; o < kRows; ++o) {
        if (r < o || r > o + 2) continue;
        sums[o] = hn::Add(sums[o], three);
      }
    }
    DTNN_UNROLL
    for (int64_t o = 0; o < kRows; ++o) {
      access.Store(hn::Div(sums[o], hn::Set(d, elements[o])), y + o * y_down + c);
    }
  });
}

// The windows that hold the inputs [row, row + kRows) of column `column`.
template <typename T>
struct HoldingTile {
  int64_t rows, top;             // output rows; the first that may hold an input of the tile
  int64_t first_column, column;  // the output columns are [first_column, end_column); of the inputs
  int64_t end_column;
  const T* dy;  // the first pixel of the image's outputs
  int64_t down, right;
  const uint8_t* winners;  // likewise; null for means
  int64_t channels, width;
  T column_shares[3], row_shares[kTileRows + 2];

  HoldingTile(const PoolPass& pass, int64_t image, int64_t row, int64_t in_column)
      : rows(pass.out_height),
        top(row + pass.spec.padding.vertical - 2),
        first_column(std::max<int64_t>(0, in_column + pass.spec.padding.horizontal - 2)),
        column(in_column + pass.spec.padding.horizontal),
        end_column(std::min(pass.out_width, column + 1)),
        dy(pass.out.At<const T>(image * pass.out_height * pass.out_width, 0)),
        down(pass.out_width * pass.out.pitch),
        right(pass.out.pitch),
        winners(static_cast<const uint8_t*>(pass.winners)),
        channels(pass.spec.channels),
        width(pass.out_width) {
    if (!pass.average()) {
      winners += image * pass.out_height * pass.out_width * channels;
      return;
    }
    for (int64_t ow = first_column; ow < end_column; ++ow) {
      column_shares[ow - first_column] = 1 / T(ColumnTaps(pass.spec, ow).count());
    }
    for (int64_t r = 0; r < kTileRows + 2; ++r) {
      if (top + r < 0 || top + r >= rows) continue;
      row_shares[r] = 1 / T(RowTaps(pass.spec, top + r).count());
    }
  }
};

// `dx` is the first pixel; the others follow, `dx_down` elements apart.
template <int64_t kRows, typename T>
HWY_INLINE void MaxTileGradient(const HoldingTile<T>& tile, bool accumulate, T* dx,
                                int64_t dx_down) {
  ForEachVector<T>(tile.channels, [&](const auto& access, int64_t c) HWY_ATTR {
    const auto d = access.d;
    hn::Vec<std::decay_t<decltype(d)>> sums[kRows];
    DTNN_UNROLL
    for (int64_t i = 0; i < kRows; ++i) {
      sums[i] = accumulate ? access.Load(dx + i * dx_down + c) : hn::Zero(d);
    }
    DTNN_UNROLL
    for (int64_t r = 0; r < kRows + 2; ++r) {
      const int64_t oh = tile.top + r;
      if (oh < 0 || oh >= tile.rows) continue;
      for (int64_t ow = tile.first_column; ow < tile.end_column; ++ow) {
        const auto gradient = access.Load(tile.dy + oh * tile.down + ow * tile.right + c);
        const auto winner =
            LoadWinners<uint8_t>(access, tile.winners, (oh * tile.width + ow) * tile.channels + c);
        const T tap = T(tile.column - ow);
        DTNN_UNROLL
        for (int64_t i = 0; i < kRows; ++i) {
          if (r < i || r > i + 2) continue;
          const auto wins = hn::Eq(winner, hn::Set(d, T(3 * (i + 2 - r)) + tap));
          sums[i] = hn::Add(sums[i], hn::IfThenElseZero(wins, gradient));
        }
      }
    }
    DTNN_UNROLL
    for (int64_t i = 0; i < kRows; ++i) access.Store(sums[i], dx + i * dx_down + c);
  });
}

template <int64_t kRows, typename T>
HWY_INLINE void MeanTileGradient(const HoldingTile<T>& tile, bool accumulate, T* dx,
                                 int64_t dx_down) {
  ForEachVector<T>(tile.channels, [&](const auto& access, int64_t c) HWY_ATTR {
    const auto d = access.d;
    hn::Vec<std::decay_t<decltype(d)>> sums[kRows];
    DTNN_UNROLL
    for (int64_t i = 0; i < kRows; ++i) {
      sums[i] = accumulate ? access.Load(dx + i * dx_down + c) : hn::Zero(d);
    }
    DTNN_UNROLL
    for (int64_t r = 0; r < kRows + 2; ++r) {
      const int64_t oh = tile.top + r;
      if (oh < 0 || oh >= tile.rows) continue;
      auto three = hn::Zero(d);
      for (int64_t ow = tile.first_column; ow < tile.end_column; ++ow) {
        const auto gradient = access.Load(tile.dy + oh * tile.down + ow * tile.right + c);
        three = hn::MulAdd(gradient, hn::Set(d, tile.column_shares[ow - tile.first_column]), three);
      }
      DTNN_UNROLL
      for (int64_t i = 0; i < kRows; ++i) {
        if (r < i || r > i + 2) continue;
        sums[i] = hn::MulAdd(three, hn::Set(d, tile.row_shares[r]), sums[i]);
      }
    }
    DTNN_UNROLL
    for (int64_t i = 0; i < kRows; ++i) access.Store(sums[i], dx + i * dx_down + c);
  });
}

// Outputs [row, row + kRows) of all columns of an image.
template <int64_t kRows, typename T>
void ForwardTiles(const PoolPass& pass, int64_t image, int64_t row) {
  const int64_t channels = pass.spec.channels;
  for (int64_t column = 0; column < pass.out_width; ++column) {
    const Tile<T> tile(pass, image, row, column);
    const int64_t pixel = (image * pass.out_height + row) * pass.out_width + column;
    T* y = pass.out.At<T>(pixel, 0);
    const int64_t y_down = pass.out_width * pass.out.pitch;
    if (pass.average()) {
      MeanTile<kRows, T>(tile, channels, y, y_down);
      continue;
    }
    uint8_t* winners = static_cast<uint8_t*>(pass.winners);
    if (winners != nullptr) winners += pixel * channels;
    MaxTile<kRows, T>(tile, channels, y, y_down, winners, pass.out_width * channels);
  }
}

// Inputs [row, row + kRows) of all columns of an image.
template <int64_t kRows, typename T>
void BackwardTiles(const PoolPass& pass, int64_t image, int64_t row) {
  const int64_t width = pass.spec.width;
  for (int64_t column = 0; column < width; ++column) {
    const HoldingTile<T> tile(pass, image, row, column);
    T* dx = pass.in.At<T>((image * pass.spec.height + row) * width + column, 0);
    if (pass.average()) {
      MeanTileGradient<kRows, T>(tile, pass.accumulate, dx, width * pass.in.pitch);
    } else {
      MaxTileGradient<kRows, T>(tile, pass.accumulate, dx, width * pass.in.pitch);
    }
  }
}

// Rows [begin, end), numbered through images of `height` rows, as tiles: calls four(image, row) or
// one(image, row).
template <class Four, class One>
HWY_INLINE void ForEachTile(int64_t begin, int64_t end, int64_t height, const Four& four,
                            const One& one) {
  while (begin < end) {
    const int64_t image = begin / height, row = begin % height;
    if (std::min(end - begin, height - row) >= kTileRows) {
      four(image, row);
      begin += kTileRows;
    } else {
      one(image, row);
      ++begin;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_POOL_3X3_INL_H_
