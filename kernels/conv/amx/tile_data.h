// Forward and backward data in tiles of bfloat16.
//
// A tile of rows is read from the images as they lie: its rows are neighbouring pixels, and a tap
// of the kernel is an offset. Rows run on from one row of the map into the next, over the padding
// between them, whose results are thrown away; or, on small maps, they are the same pixel of
// several images, so that taps in the padding are left out and no row is lost. The inputs of a
// block are copied once for all taps, with zeros around them, unless the kernel is 1x1 and the
// channels fill the tiles. With a stride, dx is computed phase by phase (phases.h).
//
// A block's sums are written back while the next one multiplies.

#ifndef DTNN_KERNELS_CONV_AMX_TILE_DATA_H_
#define DTNN_KERNELS_CONV_AMX_TILE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/conv/amx/depth.h"
#include "kernels/conv/amx/products.h"
#include "kernels/conv/kernel.h"
#include "kernels/conv/phases.h"
#include "kernels/conv/untapped.h"
#include "tensor/rounding.h"

namespace dtnn::conv::amx {

// Tiles: HardwareTiles or EmulatedTiles.
template <class Tiles>
class TileData final : public DataKernel<Bfloat16> {
 public:
  TileData(const Conv2dSpec& spec, Direction direction);

  int64_t derived_elements() const override { return derived_; }
  void DeriveFilter(const Filter<const Bfloat16>& filter, Bfloat16* derived) const override;
  size_t workspace_bytes() const override { return size_t(threads_) * thread_bytes(); }
  void Run(const Call& call) const override;

 private:
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
    int64_t low_row = 0, row_span = 0;  // of the offsets of taps that meet the images
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
    int64_t panel() const { return steps() * depth.step * 16; }  // elements of 16 columns
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
  struct Scratch {  // one thread's
    Bfloat16 *copy, *tail;
    Step* steps;
    float* sums[2];
    size_t bytes;
  };
  // The rows of tiles of a block, and how they are multiplied.
  struct Rows {
    const Bfloat16* a = nullptr;
    int64_t pitch = 0;  // in bytes
    int64_t first = 0, count = 0;
    const Step* steps = nullptr;
    int64_t step_count = 0;
    int64_t row = 0, column = 0;  // across images: which result
  };
  class Writer;

  Part MakePart(const Phase& vertical, const Phase& horizontal) const;
  void Cut(Part& part) const;
  Layout LayoutOf(const Block& block) const;
  int64_t CopyElements(const Block& block) const;
  Block Largest(const Part& part) const;
  Block BlockAt(int64_t index, int64_t images) const;
  Scratch Divide(std::byte* memory) const;
  size_t thread_bytes() const { return Divide(nullptr).bytes; }
  void CopyPixels(const Part& part, const Bfloat16* from, int64_t step, int64_t count, Bfloat16* to,
                  int64_t to_step) const;
  void Copy(const Block& block, const Images<const Bfloat16>& in, Bfloat16* copy) const;
  void CopyAcrossImages(const Block& block, const Images<const Bfloat16>& in, Bfloat16* copy) const;
  int64_t ListSteps(const Block& block, Step* steps) const;
  int64_t ListStepsAt(const Part& part, int64_t row, int64_t column, Step* steps) const;
  void RunBlock(Tiles& tiles, const Call& call, const Block& block, int64_t first_pair,
                int64_t last_pair, const Scratch& scratch) const;
  void Multiply(Tiles& tiles, const Rows& rows, const Bfloat16* filter, int64_t panel,
                Writer& writer) const;

  int64_t panels() const { return CeilDiv(columns_, 16); }
  int64_t pairs() const { return CeilDiv(panels(), 2); }

  bool backward_;
  int64_t kernel_width_, depth_, columns_, batch_;
  std::vector<Phase> vertical_, horizontal_;
  bool flat_;             // a product of all pixels of all images, where they are, as one row
  int64_t group_images_;  // of a block; more than one: rows of tiles are one pixel of all of them
  bool large_filter_;     // larger than the inputs: each thread should read a part of it
  int threads_;
  std::vector<Part> parts_;
  int64_t derived_ = 0;
  Untapped untapped_;
};

std::unique_ptr<DataKernel<Bfloat16>> MakeTileData(const Conv2dSpec& spec, Direction direction);
// For tests: the same with EmulatedTiles.
std::unique_ptr<DataKernel<Bfloat16>> MakeEmulatedTileData(const Conv2dSpec& spec,
                                                           Direction direction);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_TILE_DATA_H_
