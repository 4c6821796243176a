// The gradient of the filter in tiles of bfloat16: of each tap, a product of all channels of x and
// all filters of dy, over the pixels. The taps are computed in groups, so that threads share them,
// and need little memory for sums of their own.
//
// A strip, some rows of an image or some images, is packed: x so that the pixels of a channel lie
// side by side, row after row, and dy in pairs of pixels, with zeros in the places of the padding
// between the rows of x. A tap is then an offset in x, and every tap reads the same copy. With a
// stride, inputs whose places are the same modulo the stride lie in a plane of their own. What x
// holds between two rows is multiplied by zeros; where an infinity there has made a NaN of it, the
// sums of that block are computed by their definition.
//
// Or, where that takes fewer products, the same pixel of 32 images is a step: the copies have no
// padding, and each tap has a list of the pixels that it meets.
//
// Where the filters of a tap lie side by side in the gradient, sums go there at once.

#ifndef DTNN_KERNELS_CONV_AMX_TILE_FILTER_H_
#define DTNN_KERNELS_CONV_AMX_TILE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/amx/products.h"
#include "kernels/conv/geometry/phases.h"
#include "kernels/conv/kernel.h"
#include "tensor/rounding.h"

namespace dtnn::conv::amx {

// Tiles: HardwareTiles or EmulatedTiles.
template <class Tiles>
class TileFilter final : public FilterKernel<Bfloat16> {
 public:
  explicit TileFilter(const Conv2dSpec& spec);

  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }
  void Sum(const Images<const Bfloat16>& x, const Images<const Bfloat16>& dy, int64_t images,
           bool first, const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  // Along an axis, in results: the taps that meet the images, from the first to the last.
  struct Axis {
    Phase phase;
    int64_t low = 0, span = 0;
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
  struct Job {
    const Images<const Bfloat16>&x, &dy;
    int64_t images;  // of the call
    const Gradient& gradient;
    bool start;  // the sums of these images are the first
    Memory memory;
  };
  // Up to two tiles of channels times two of filters, of a group of taps, over steps [begin, end).
  struct Block {
    int64_t channel, channels, filter, filters;
    int64_t rows, columns;  // of the sums of a tap, as the products leave them
    std::span<const Tap> taps;
    int64_t split, begin, end;
  };

  void PlaceWithPadding();
  void PlaceAcrossImages();
  bool FewerAcrossImages(const Conv2dSpec& spec) const;
  Memory Divide(std::byte* memory) const;
  int64_t padded_channels() const { return RoundUp(channels_, 16); }
  int64_t padded_filters() const { return RoundUp(filters_, 16); }
  int64_t sums_elements() const { return int64_t(taps_.size()) * channels_ * padded_filters(); }
  // Whether Sum leaves the gradient complete.
  bool in_place() const { return filters_last_ && splits_ == 1; }
  int64_t blocks() const {
    return tap_groups_ * CeilDiv(channels_, int64_t{32}) * CeilDiv(filters_, int64_t{32});
  }
  int64_t block_elements() const;  // of the sums of a block
  int64_t planes() const {
    return int64_t(vertical_.residues.size() * horizontal_.residues.size());
  }
  int64_t panel() const { return pixels_ * 16; }  // elements of 16 filters of the copy of dy
  Bfloat16* XPlane(const Memory& memory, int64_t plane) const {
    return memory.x + plane * padded_channels() * x_pitch_;
  }
  // Results of a row; fewer in the last one of a call whose pixels are one row.
  int64_t ColumnsOf(int64_t row, int64_t images) const;
  int64_t RowsOf(int64_t images) const;
  int64_t UsedPixels(const Strip& strip) const;
  void SumStrip(const Job& job, const Strip& strip) const;
  void Pack(const Job& job, const Strip& strip) const;
  template <class Place>
  void ForEachPlace(int64_t first, int64_t count, const Place& place) const {
    ForEachPlace(first, count, pitch_, image_rows_, place);
  }
  template <class Place>
  void ForEachPlace(int64_t first, int64_t count, int64_t columns, int64_t rows,
                    const Place& place) const;
  // Across images: the first row of x that a strip reads.
  int64_t FirstInput(const Strip& strip) const {
    return std::max<int64_t>(0, strip.row * vertical_.phase.in_step + vertical_.low);
  }
  void ListSteps(const Job& job, const Strip& strip) const;
  void PackDy(const Job& job, const Strip& strip, int64_t first) const;
  void PackX(const Job& job, const Strip& strip, int64_t plane, int64_t first) const;
  const Bfloat16* DyAt(const Job& job, const Strip& strip, int64_t image, int64_t row,
                       int64_t column) const;
  const Bfloat16* XAt(const Job& job, const Strip& strip, int64_t image, int64_t row,
                      int64_t column, int64_t down, int64_t right) const;
  Block BlockAt(int64_t index, int64_t steps) const;
  void SumBlock(Tiles& tiles, const Job& job, const Strip& strip, const Block& block,
                float* scratch) const;
  template <int kRows, int kColumns>
  void Multiply(Tiles& tiles, const Job& job, const Block& block, float* sums) const;
  void SumByDefinition(const Job& job, const Strip& strip, const Block& block, const Tap& tap,
                       float* to) const;
  void ZeroTaps(const Gradient& gradient, bool all) const;
  void SumBias(const Job& job, int64_t index, int64_t steps) const;
  void WriteBlock(const Gradient& gradient, const Memory& memory, int64_t tap, int64_t channel,
                  int64_t filter) const;

  int64_t channels_, filters_, batch_;
  bool filters_last_;
  // Pixels of an image that one tap reads whole, so that rows may be cut anywhere; else 0.
  int64_t pointwise_pixels_;
  Axis vertical_, horizontal_;
  std::vector<Tap> taps_;
  int64_t tap_groups_ = 0;
  std::vector<int64_t> place_;  // of each tap of the kernel among them; -1: its gradient is 0
  int64_t rows_, columns_;      // of an image, or of all, which is cut into rows of any length
  int64_t pitch_;               // from row to row of the copies
  int64_t strip_rows_, strip_images_;
  int64_t together_ = 1;        // images whose pixels lie side by side in the copies
  int64_t x_rows_ = 0;          // of the copy of x across images
  int64_t image_rows_;          // from image to image of the copies
  int64_t pixels_;              // of the copy of dy
  int64_t x_pixels_, x_pitch_;  // of the copy of x, and from a channel to the next
  int64_t splits_ = 1;          // of a strip, with sums of their own, where there are few blocks
  int threads_;
};

std::unique_ptr<FilterKernel<Bfloat16>> MakeTileFilter(const Conv2dSpec& spec);
// For tests: the same with EmulatedTiles.
std::unique_ptr<FilterKernel<Bfloat16>> MakeEmulatedTileFilter(const Conv2dSpec& spec);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_TILE_FILTER_H_
