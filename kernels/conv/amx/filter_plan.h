// How the gradient of a filter in tiles is cut (tile_filter.h): into strips of results, which are
// copied, and those into blocks of sums; and where the copies of a strip have which pixel.

#ifndef DTNN_KERNELS_CONV_AMX_FILTER_PLAN_H_
#define DTNN_KERNELS_CONV_AMX_FILTER_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/amx/products.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/geometry/phases.h"
#include "tensor/float16.h"
#include "tensor/rounding.h"

namespace dtnn::conv::amx {

struct FilterPlan {
  static constexpr int64_t kDepth = 32;  // pixels of a step

  // Along an axis, in results: the taps that meet the images, from the first to the last.
  struct Axis {
    Phase phase;
    int64_t span = 0;               // from the first tap to the last
    int64_t shared = 0;             // zeros after the last input that are those before the first
    std::vector<int64_t> residues;  // of the offsets of taps, modulo the step: one plane each

    static Axis Of(const Phase& phase);
  };
  struct Tap {
    int64_t tap;                   // its index in the kernel
    int64_t vertical, horizontal;  // offsets
    int64_t plane, shift;          // where it begins in the copy of x
  };
  // Rows [row, row + rows) of images [image, image + images).
  struct Strip {
    int64_t image, images, row, rows;
  };
  struct Memory {
    float *sums, *bias;        // of each split; no sums where they go to the gradient
    Bfloat16 *x, *dy, *zeros;  // a pixel of zeros
    tile::Step* steps;         // across images: those of each tap,
    int64_t* steps_end;        // and how many there are up to each pixel
    float* block;              // of each thread
    size_t bytes;
  };
  // Up to two tiles of channels times two of filters, of a group of taps, over steps [begin, end).
  struct Block {
    int64_t channel, channels, filter, filters;
    int64_t rows, columns;  // of the sums of a tap, as the products leave them
    std::span<const Tap> taps;
    int64_t split, begin, end;
  };

  explicit FilterPlan(const Conv2dSpec& spec);

  int64_t channels, filters, batch;
  bool filters_last;
  // Pixels of an image that one tap reads whole, so that rows may be cut anywhere; else 0.
  int64_t pointwise_pixels;
  Axis vertical, horizontal;
  std::vector<Tap> taps;
  int64_t tap_groups = 0;
  std::vector<int64_t> place;  // of each tap of the kernel among them; -1: its gradient is 0
  int64_t rows, columns;       // of an image, or of all, which is cut into rows of any length
  int64_t pitch;               // from row to row of the copies
  int64_t strip_rows, strip_images;
  int64_t together = 1;       // images whose pixels lie side by side in the copies
  int64_t x_rows = 0;         // of the copy of x across images
  int64_t image_rows;         // from image to image of the copies
  int64_t pixels;             // of the copy of dy
  int64_t x_pixels, x_pitch;  // of the copy of x, and from a channel to the next
  int64_t splits = 1;         // of a strip, with sums of their own, where there are few blocks
  int threads;

  Memory Divide(std::byte* memory) const;
  int64_t padded_channels() const { return RoundUp(channels, 16); }
  int64_t padded_filters() const { return RoundUp(filters, 16); }
  int64_t sums_elements() const { return int64_t(taps.size()) * channels * padded_filters(); }
  // Whether Sum leaves the gradient complete.
  bool in_place() const { return filters_last && splits == 1; }
  int64_t blocks() const {
    return tap_groups * CeilDiv(channels, int64_t{32}) * CeilDiv(filters, int64_t{32});
  }
  int64_t block_elements() const;  // of the sums of a block
  int64_t planes() const { return int64_t(vertical.residues.size() * horizontal.residues.size()); }
  int64_t panel() const { return pixels * 16; }  // elements of 16 filters of the copy of dy
  Bfloat16* XPlane(const Memory& memory, int64_t plane) const {
    return memory.x + plane * padded_channels() * x_pitch;
  }
  // Results of a row; fewer in the last one of a call whose pixels are one row.
  int64_t ColumnsOf(int64_t row, int64_t images) const;
  int64_t RowsOf(int64_t images) const;
  int64_t UsedPixels(const Strip& strip) const;
  // Calls place(index, image of the strip, row, column) for places [first, first + count) of the
  // copy of dy, or of one with so many columns and rows.
  template <class Place>
  void ForEachPlace(int64_t first, int64_t count, const Place& place) const {
    ForEachPlace(first, count, pitch, image_rows, place);
  }
  template <class Place>
  void ForEachPlace(int64_t first, int64_t count, int64_t across, int64_t lines,
                    const Place& place) const {
    int64_t within = first % together, column = first / together % across;
    int64_t row = first / together / across % lines;
    int64_t image = first / together / across / lines * together;
    for (int64_t i = 0; i < count; ++i) {
      place(i, image + within, row, column);
      if (++within < together) continue;
      within = 0;
      if (++column < across) continue;
      column = 0;
      if (++row < lines) continue;
      row = 0;
      image += together;
    }
  }
  // Across images: the first row of x that a strip reads.
  int64_t FirstInput(const Strip& strip) const {
    return std::max<int64_t>(0, strip.row * vertical.phase.in_step + vertical.phase.low);
  }
  // The block of a number below blocks() times splits, of `steps` steps.
  Block BlockAt(int64_t index, int64_t steps) const;

 private:
  void PlaceWithPadding();
  void PlaceAcrossImages();
  bool FewerAcrossImages(const Conv2dSpec& spec) const;
};

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_FILTER_PLAN_H_
