// The inner loops of depthwise convolution for the best instruction set of this machine, on blocks
// of as many channels as a line of the cache holds. Up to 3 x 3 taps at a time stay in registers,
// as the elements of the filter or as the sums of its gradient; where there are 32 registers of 64
// bytes, 5 x 5 do too.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_

#include <algorithm>
#include <cstdint>

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

// out = relu(scale * sum over taps of in * filter + bias + addend). The steps of `in` lead from one
// result to the next; those of addend and out are their own.
template <typename T>
struct Gather {
  Counts results;
  Images<const T> in;  // at the first tap of the first result
  TapSteps in_taps;
  const T* filter = nullptr;
  TapSteps filter_taps;
  const T *scale = nullptr, *bias = nullptr;  // may be null
  Images<const T> addend;                     // its data may be null
  bool relu = false;
  Images<T> out;
};

// sums[tap] += sum over results of in[tap] * dy.
template <typename T>
struct Correlation {
  Counts results;
  Images<const T> in, dy;
  TapSteps in_taps;
  T* sums = nullptr;
  TapSteps sums_taps;
};

template <typename T>
struct Kernels {
  using GatherTaps = void (*)(const Gather<T>& gather);
  using CorrelateTaps = void (*)(const Correlation<T>& correlation);

  GatherTaps gather[kTaps][kTaps];  // of so many rows and columns of taps, less one
  CorrelateTaps correlate[kTaps][kTaps];
  // Of kMoreTaps x kMoreTaps; null where they do not fit the registers.
  GatherTaps gather_more;
  CorrelateTaps correlate_more;
  // to = from.
  void (*copy)(const Counts& pixels, const Images<const T>& from, const Images<T>& to);
};

template <typename T>
const Kernels<T>& CpuKernels();

// Calls use(function, first row, first column, taps) for blocks that cover rows x columns of taps,
// with the one of `table` or `more` that knows a block of that size.
template <class F, class Use>
void ForEachBlockOfTaps(int64_t rows, int64_t columns, const F (&table)[kTaps][kTaps], F more,
                        const Use& use) {
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
