// The tiles of the images on one side of a convolution, numbered over the whole batch, so that
// small images of which each has few tiles still make long products.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_TILE_GRID_H_
#define DTNN_KERNELS_CONV_WINOGRAD_TILE_GRID_H_

#include <cstdint>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"
#include "kernels/conv/images.h"
#include "kernels/conv/winograd/form.h"
#include "kernels/conv/winograd/winograd_cpu.h"

namespace dtnn::conv::winograd {

class TileGrid {
 public:
  // For a convolution with stride and dilation 1, from x to y or from dy to dx.
  TileGrid(const Conv2dSpec& spec, Direction direction, Form form);

  int64_t per_image() const { return rows_ * columns_; }
  // What tiles [first, first + count) read, and what they write.
  template <typename T>
  void ListInput(const Images<const T>& in, int64_t first, int64_t count,
                 InWindow<T>* windows) const;
  // The same part of the output as an input: its gradient.
  template <typename T>
  void ListGradient(const Images<const T>& dy, int64_t first, int64_t count,
                    InWindow<T>* windows) const;
  // `addend` may have null data.
  template <typename T>
  void ListOutput(const Images<T>& out, const Images<const T>& addend, int64_t first, int64_t count,
                  OutWindow<T>* windows) const;

 private:
  // Image, row and column of a tile.
  struct Place {
    int64_t image, row, column;
  };
  Place PlaceOf(int64_t tile) const;
  void Advance(Place& place) const;

  Form form_;
  int64_t in_height_, in_width_, out_height_, out_width_;
  int64_t top_, left_;  // where the input of the first tile begins
  int64_t rows_, columns_;
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_TILE_GRID_H_
