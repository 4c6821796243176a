// The inner loops of variant winograd, for the best instruction set of this machine: the transforms
// of tiles, vectorised over channels, and the products of their elements.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_CPU_H_
#define DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_CPU_H_

#include <cstdint>

#include "kernels/conv/winograd/form.h"

namespace dtnn::conv::winograd {

// Transformed tiles: channel c of element e of tile t is at data[e * element + t * tile + c].
template <typename T>
struct Tiles {
  T* data = nullptr;
  int64_t element = 0, tile = 0;
};

// The part of an image that a tile covers. Rows and columns of the tile that the image does not
// have, in the padding or after its end, are zeros.
template <typename T>
struct InWindow {
  const T* data = nullptr;                       // of the first pixel that exists
  int top = 0, bottom = 0, left = 0, right = 0;  // those that exist: [top, bottom) x [left, right)
};

// Images to transformed tiles: those of the input, or of the output's gradient.
template <typename T>
struct ToTiles {
  const InWindow<T>* windows = nullptr;
  int64_t count = 0;
  int64_t row = 0, pixel = 0;               // steps
  int64_t channels = 0, first_channel = 0;  // of the images
  Tiles<T> tiles;                           // whole vectors of channels are written
  // Channels that lie together, in whole vectors, and from there to the next ones; 0: all do.
  int64_t panel = 0, panel_step = 0;
  T* sums = nullptr;  // [channels]: what the pixels of the windows are added to; or null
};

// The part of an image that a tile's outputs cover.
template <typename T>
struct OutWindow {
  T* data = nullptr;
  const T* addend = nullptr;  // or null
  int rows = 0, columns = 0;  // that exist
};

// Transformed tiles to images.
template <typename T>
struct FromTiles {
  Tiles<const T> tiles;
  const OutWindow<T>* windows = nullptr;
  int64_t count = 0;
  int64_t row = 0, pixel = 0;  // steps
  int64_t addend_row = 0, addend_pixel = 0;
  int64_t channels = 0, first_channel = 0;  // of the images
  const T* scale = nullptr;                 // padded to whole vectors; or null
  const T* bias = nullptr;
  bool relu = false;
};

// Filters to transformed filters, or sums of transformed products to gradients of filters: for k <
// count and j < columns, the taps from[tap * from_step + k * from_row + j] and the elements
// to[e * to_step + k * to_row + j], or the other way round.
template <typename T>
struct FilterTransform {
  const T* from = nullptr;
  int64_t from_step = 0, from_row = 0;
  T* to = nullptr;
  int64_t to_step = 0, to_row = 0;
  int64_t count = 0, columns = 0;  // columns: whole vectors
  bool accumulate = false;         // to gradients
};

// out[e][t] (+)= sum over c of in[e][t][c] * filter[e][c] for all elements e; the rows of the
// filter and of the results are `width`, one or two vectors.
template <typename T>
struct Products {
  int64_t elements = 0, tiles = 0, channels = 0;
  Tiles<const T> in;
  const T* filter = nullptr;
  int64_t width = 0, filter_element = 0;
  bool accumulate = false;
  Tiles<T> out;
};

// out[e][c][k] (+)= sum over t of in[e][t][c] * out_gradient[e][t][k] for all elements e; the rows
// k of the results are `width`, one or two vectors.
template <typename T>
struct Correlations {
  int64_t elements = 0, tiles = 0, channels = 0, width = 0;
  Tiles<const T> in, gradient;
  bool accumulate = false;
  T* out = nullptr;
  int64_t out_element = 0;
};

template <typename T>
struct Kernels {
  int64_t lanes;
  int64_t rows;  // of the register tile: multiples of so many tiles are multiplied fastest
  void (*in_to_tiles)(const ToTiles<T>& job);
  void (*tiles_to_out)(const FromTiles<T>& job);
  void (*filter_to_tiles)(const FilterTransform<T>& job);
  void (*multiply)(const Products<T>& job);
  // The gradient of the outputs to tiles that, multiplied with those of the input and summed, are
  // transformed filters.
  void (*gradient_to_tiles)(const ToTiles<T>& job);
  void (*correlate)(const Correlations<T>& job);
  void (*sums_to_filter)(const FilterTransform<T>& job);
};

template <typename T>
const Kernels<T>& CpuKernels(Form form);

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_WINOGRAD_CPU_H_
