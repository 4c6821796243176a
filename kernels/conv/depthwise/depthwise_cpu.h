// The inner loops of depthwise convolution for the best instruction set of this machine. A vector
// of the filter serves up to 6 results at a time. The sums of up to 3 x 3 taps of its gradient stay
// in registers; where there are 32 registers of 64 bytes, 5 x 5 do too.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/conv/images.h"

namespace dtnn::conv::depthwise {

template <typename T>
inline constexpr int64_t kBlock = 64 / int64_t(sizeof(T));  // channels

inline constexpr int64_t kTaps = 3;
inline constexpr int64_t kMoreTaps = 5;

// Distances between taps that are neighbours in a column or in a row of the kernel.
struct TapSteps {
  int64_t row = 0, column = 0;
};

struct Counts {
  int64_t images = 0, rows = 0, columns = 0;
};

// out = relu(scale * sum over taps of in * filter + bias + addend) for results at constant
// distances that have the same taps, all channels of each.
template <typename T>
struct Sums {
  int64_t count = 0, channels = 0;
  int64_t tap_rows = 0, tap_columns = 0;
  const T* in = nullptr;  // at the first tap of the first result
  int64_t in_step = 0;
  TapSteps in_taps;
  const T* filter = nullptr;  // of the first tap, padded to whole vectors
  TapSteps filter_taps;
  const T *scale = nullptr, *bias = nullptr;  // may be null, else padded to whole vectors
  const T* addend = nullptr;                  // may be null, or `out`
  int64_t addend_step = 0;
  bool relu = false;
  T* out = nullptr;
  int64_t out_step = 0;
  // Unless 0, so far from `in` and from `out` on lies what the next row of results needs, which is
  // called into the second cache meanwhile.
  int64_t in_below = 0, out_below = 0;
};

// sums[tap] += sum over results of in[tap] * dy.
template <typename T>
struct Correlation {
  Counts results;
  int64_t channels = 0;  // at most kBlock; the sums are whole blocks
  Images<const T> in, dy;
  TapSteps in_taps;
  T* sums = nullptr;
  TapSteps sums_taps;
};

// The same for taps and results of a row that read neighbouring pixels, of a whole block of
// channels; pixels outside of [0, width) are zeros. in.data: column 0 at the first row of taps.
template <typename T>
struct SlidingCorrelation {
  Correlation<T> c;
  int64_t first = 0, width = 0;  // the column that the first tap of the first result reads
};

template <typename T>
struct Kernels {
  using CorrelateTaps = void (*)(const Correlation<T>& correlation);

  void (*sum)(const Sums<T>& sums);
  CorrelateTaps correlate[kTaps][kTaps];  // of so many rows and columns of taps, less one
  void (*slide[kTaps][kTaps])(const SlidingCorrelation<T>& correlation);
  // Of kMoreTaps x kMoreTaps; null where they do not fit the registers.
  CorrelateTaps correlate_more;
};

template <typename T>
const Kernels<T>& CpuKernels();

// Calls use(function, first row, first column, taps) for blocks that cover rows x columns of taps,
// with the one of `table` or `more` that knows a block of that size.
template <class F, class Use>
void ForEachBlockOfTaps(int64_t rows, int64_t columns, const F (&table)[kTaps][kTaps],
                        std::type_identity_t<F> more, const Use& use) {
  if (rows == kMoreTaps && columns == kMoreTaps && more != nullptr) {
    return use(more, 0, 0, rows * columns);
  }
  for (int64_t r = 0; r < rows; r += kTaps) {
    for (int64_t c = 0; c < columns; c += kTaps) {
      const int64_t high = std::min(rows - r, kTaps), wide = std::min(columns - c, kTaps);
      use(table[high - 1][wide - 1], r, c, high * wide);
    }
  }
}

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_
