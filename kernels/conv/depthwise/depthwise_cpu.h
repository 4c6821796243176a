// The inner loops of depthwise convolution for the best instruction set of this machine. A vector
// of the filter serves up to 6 results at a time. The sums of up to 3 x 3 taps of its gradient stay
// in registers; where there are 32 registers of 64 bytes, 5 x 5 do too. Images of bfloat16 are
// widened when they are loaded, and results rounded when they are stored.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_

#include <cstdint>

#include "kernels/conv/images.h"
#include "tensor/float16.h"

namespace dtnn::conv::depthwise {

template <typename T>
inline constexpr int64_t kBlock = 64 / int64_t(sizeof(Wide<T>));  // channels

inline constexpr int64_t kTaps = 3;
inline constexpr int64_t kMoreTaps = 5;

// How a row of results slides over a row of inputs, where the kernel takes up to so many columns of
// neighbours: the i-th column from the window's first on gives something to result (i - k) / stride
// for tap k; in kSpread, that of a gradient of stride 2 whose taps are spread, to 2 * i - 1 + k.
enum Window { kStep1, kStep2, kMoreStep1, kMoreStep2, kSpread };
inline constexpr int kWindows = 5;

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
  const Wide<T>* filter = nullptr;  // of the first tap, padded to whole vectors
  TapSteps filter_taps;
  const Wide<T>*scale = nullptr, *bias = nullptr;  // may be null, else padded to whole vectors
  const T* addend = nullptr;                       // may be null, or `out`
  int64_t addend_step = 0;
  bool relu = false;
  T* out = nullptr;
  int64_t out_step = 0;
  // Unless 0, so far from `in` and from `out` on lies what the next row of results needs, which is
  // prefetched into the L2 cache meanwhile.
  int64_t in_below = 0, out_below = 0;
};

// The same for neighbouring results of a row that read neighbouring pixels, each once for all that
// read it. `in` is at column 0; columns outside of [0, width) are left out.
template <typename T>
struct RowSums {
  Sums<T> s;
  int64_t first = 0, width = 0;  // the column that the first tap of the first result reads
};

// sums[tap] += (the sum over results of in[tap] * dy).
template <typename T>
struct Correlation {
  Counts results;
  int64_t channels = 0;  // at most kBlock; the sums are whole blocks
  Images<const T> in, dy;
  TapSteps in_taps;
  Wide<T>* sums = nullptr;
  TapSteps sums_taps;
};

// The same for taps of whole rows of the kernel, of a whole block of channels; pixels outside of
// the image are left out. c.in.data: pixel (0, 0); c.in.row, pixel: from pixel to pixel.
template <typename T>
struct SlidingCorrelation {
  Correlation<T> c;
  int64_t row_step = 1;                     // of the inputs, from a row of results to the next
  int64_t first_row = 0, first_column = 0;  // that the first tap of the first result reads
  int64_t height = 0, width = 0;
};

template <typename T>
struct Kernels {
  using CorrelateTaps = void (*)(const Correlation<T>& correlation);

  void (*sum)(const Sums<T>& sums) = nullptr;
  CorrelateTaps correlate[kTaps][kTaps] = {};  // of so many rows and columns of taps, less one
  // Windows, of floats and with AVX2 or more; else null. Of the filter's gradient those of 1, 2,
  // ... rows of taps whose sums fit the registers.
  void (*sum_row[kWindows])(const RowSums<T>& sums) = {};
  void (*slide[kWindows][kMoreTaps])(const SlidingCorrelation<T>& correlation) = {};
};

template <typename T>
const Kernels<T>& CpuKernels();

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_DEPTHWISE_CPU_H_
