// The inner loops of variant gemm, for the best instruction set of this machine.
//
// Both products keep a block of rows x (1 or 2 vectors) of sums in registers. Patches are never
// copied together: the rows of a tile are pixels at a constant distance, and a tap of the kernel is
// an offset that they share.
//
// An output element is one chain of fused multiply-adds in the order of taps and depth, whatever
// the block it is computed in, so results do not depend on how the work is divided.

#ifndef DTNN_KERNELS_CONV_GEMM_GEMM_CPU_H_
#define DTNN_KERNELS_CONV_GEMM_GEMM_CPU_H_

#include <cstdint>

namespace dtnn::conv::gemm {

// A tap of the kernel, in elements: of a row's pixel from `RowOfPixels::in`, and of its filter.
struct TapOffset {
  int64_t in = 0, filter = 0;
};

inline constexpr int64_t kFewOutChannels = 4;

// Output pixels at constant distances, of which all have the same taps inside the input.
template <typename T>
struct RowOfPixels {
  int64_t count = 0;
  const T* in = nullptr;
  int64_t in_step = 0;
  const TapOffset* taps = nullptr;
  int64_t tap_count = 0;
  T* out = nullptr;  // output channel 0
  int64_t out_step = 0;
  const T* addend = nullptr;  // or null; may be `out`
  int64_t addend_step = 0;
  bool prefetch = false;  // the inputs of a tile while the one before it is computed
};

// One or two vectors of output channels: `width` packed filter elements for each patch element.
template <typename T>
struct Panel {
  const T* filter = nullptr;
  int64_t width = 0;         // a multiple of the vector, at most two
  int64_t out_channels = 0;  // that exist, <= width
  int64_t out_channel = 0;   // the first one
  int64_t depth = 0;         // of a tap
  const T* scale = nullptr;  // of this panel, padded to `width`; or null
  const T* bias = nullptr;
  bool relu = false;
};

// A block of the filter's gradient: out[i][j] (+)= sum over the pixels p of a rectangle of some
// images of x[p][i] * dy[p][j] for i < channels and j < width. The sum begins at zero: a chain over
// all pixels would round too much.
template <typename T>
struct FilterBlock {
  int64_t images = 0, rows = 0, pixels = 0;  // of the rectangle
  const T* x = nullptr;
  int64_t x_image = 0, x_row = 0, x_pixel = 0;  // steps
  const T* dy = nullptr;
  int64_t dy_image = 0, dy_row = 0, dy_pixel = 0;
  int channels = 0;
  int64_t width = 0;  // one or two vectors
  T* out = nullptr;
  int64_t pitch = 0;
  bool accumulate = false;
  // Prefetched into the L2 cache meanwhile: an element per pixel, `prefetch_step` apart.
  const T* prefetch = nullptr;
  int64_t prefetch_step = 0;
};

// Pixels of so many channels to panels of `width` of them, in each of which they lie one after
// the other; those of the last panel, where it is not full, are `last_width` apart. Up to a vector
// behind the last pixel of a panel is overwritten, and channels that a pixel does not have are not
// defined.
template <typename T>
struct PixelCopy {
  const T* from = nullptr;
  int64_t from_pixel = 0;
  int64_t pixels = 0, channels = 0, width = 0, last_width = 0;
  T* to = nullptr;
  int64_t first = 0;  // the place of the first of these pixels in a panel
  int64_t panel = 0;  // from panel to panel
};

template <typename T>
struct Kernels {
  int64_t lanes;  // elements of a vector
  // Channels of a filter block with two vectors; with one, narrow_factor times as many.
  int max_rows, narrow_factor;
  void (*multiply)(const RowOfPixels<T>& row, const Panel<T>& panel);
  // The same for a panel of at most kFewOutChannels output channels, which would leave most of a
  // vector empty: its filter is in blocks of a vector of the depth, padded with zeros, one for each
  // output channel.
  void (*multiply_few)(const RowOfPixels<T>& row, const Panel<T>& panel);
  void (*filter_block)(const FilterBlock<T>& block);
  // sums[j] += (the sum of x[p * pitch + j] for p < rows in order).
  void (*add_rows)(const T* x, int64_t rows, int64_t channels, int64_t pitch, T* sums);
  void (*copy_panels)(const PixelCopy<T>& job);
};

template <typename T>
const Kernels<T>& CpuKernels();

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_GEMM_CPU_H_
