// How a convolution in tiles is cut (tile_data.h): into parts, which are pairs of phases, and those
// into blocks of results; and where the copy of a block's inputs has which pixel.

#ifndef DTNN_KERNELS_CONV_AMX_TILE_PLAN_H_
#define DTNN_KERNELS_CONV_AMX_TILE_PLAN_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/amx/depth.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"
#include "kernels/conv/geometry/phases.h"
#include "tensor/rounding.h"

namespace dtnn::conv::amx {

class TilePlan {
 public:
  // Neighbouring taps of one row of the kernel, whose inputs lie side by side.
  struct TapRun {
    int64_t vertical;  // offsets of the first, from the first input of a block
    int64_t horizontal;
    int64_t tap;  // its index in the kernel; the next ones are Part::tap_step apart
  };
  // A pair of phases: a convolution without strides, and how it is cut into blocks.
  struct Part {
    const Phase *vertical, *horizontal;
    std::vector<TapRun> runs;
    int64_t run_taps = 1, tap_step = 1;
    int64_t low_row = 0, row_span = 0;  // of the offsets of taps inside
    int64_t low_column = 0, column_span = 0;
    int64_t planes = 1;       // of a copy: see Layout
    int64_t column_step = 1;  // pixels of a copy from one result to the next
    Depth depth;
    int64_t pitch = 0;              // of a pixel of a copy, in elements
    int64_t derived = 0;            // where its packed filter begins
    int64_t rows = 0, columns = 0;  // of a block
    int64_t row_blocks = 1, column_blocks = 1;

    int64_t blocks() const { return row_blocks * column_blocks; }
    int64_t steps() const { return int64_t(runs.size()) * depth.steps; }
    int64_t panel() const { return steps() * depth.step * 16; }  // elements of 16 output channels
  };
  // Results [row, row_end) x [column, column_end) of a part, of `images` images from `image` on.
  struct Block {
    const Part* part;
    int64_t image, images;
    int64_t row, row_end, column, column_end;

    int64_t rows() const { return row_end - row; }
    int64_t columns() const { return column_end - column; }
  };
  // The copy of a block's inputs, in pixels. Rows whose number is the same modulo the step of
  // results lie in one plane, so that a tap is the same offset for all results.
  struct Layout {
    int64_t reach;       // of a row, from the first to the last input
    int64_t pitch;       // from one row to the next, which may share their zeros
    int64_t tile_pitch;  // from one row of results to the next, in results
    int64_t plane;
    int64_t pixels;  // all, with what the last tile reads beyond
  };

  TilePlan(const Conv2dSpec& spec, Direction direction);
  TilePlan(const TilePlan&) = delete;  // parts point to phases
  TilePlan& operator=(const TilePlan&) = delete;

  bool backward() const { return backward_; }
  int64_t depth() const { return depth_; }
  int64_t out_channels() const { return out_channels_; }
  int64_t panels() const { return CeilDiv(out_channels_, int64_t{16}); }
  int64_t pairs() const { return CeilDiv(panels(), int64_t{2}); }
  const std::vector<Part>& parts() const { return parts_; }
  int64_t derived_elements() const { return derived_; }  // of the packed filter
  int threads() const { return threads_; }
  // A product of all pixels of all images, where they are, as one row.
  bool pointwise() const { return pointwise_; }
  // Images of a block; more than one: rows of tiles are one pixel of all of them.
  int64_t group_images() const { return group_images_; }
  // Larger than the inputs: each thread should read a part of it.
  bool large_filter() const { return large_filter_; }

  int64_t blocks() const;  // of one group of images
  // Block `index` of all blocks of a call with `images` images; it may have no results.
  Block BlockAt(int64_t index, int64_t images) const;
  Block Largest(const Part& part) const;
  Layout LayoutOf(const Block& block) const;
  // The size of the copy of a block's inputs; 0 where they are read where they are.
  int64_t CopyElements(const Block& block) const;

 private:
  Part MakePart(const Phase& vertical, const Phase& horizontal) const;
  void Cut(Part& part) const;

  bool backward_;
  int64_t kernel_width_, depth_, out_channels_, batch_;
  std::vector<Phase> vertical_, horizontal_;
  bool pointwise_;
  int64_t group_images_;
  bool large_filter_;
  int threads_;
  std::vector<Part> parts_;
  int64_t derived_ = 0;
};

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_TILE_PLAN_H_
