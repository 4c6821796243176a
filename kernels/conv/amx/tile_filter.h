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

#include "kernels/amx/dots.h"
#include "kernels/amx/tiles.h"
#include "kernels/conv/amx/filter_copies.h"
#include "kernels/conv/amx/filter_plan.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::amx {

// Tiles: HardwareTiles, HardwareDots, or an emulation of one of them.
template <class Tiles>
class TileFilter final : public FilterKernel<Bfloat16> {
 public:
  explicit TileFilter(const Conv2dSpec& spec) : plan_(spec) {}

  size_t workspace_bytes() const override { return plan_.Divide(nullptr).bytes; }
  void Sum(const Images<const Bfloat16>& x, const Images<const Bfloat16>& dy, int64_t images,
           bool first, const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  using Tap = FilterPlan::Tap;
  using Strip = FilterPlan::Strip;
  using Memory = FilterPlan::Memory;
  using Block = FilterPlan::Block;
  struct Job {
    FilterCopies copies;
    const Gradient& gradient;
    const Memory& memory;
    bool start;  // the sums of these images are the first
  };

  void SumStrip(const Job& job, const Strip& strip) const;
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

  const FilterPlan plan_;
};

template <class Tiles>
std::unique_ptr<FilterKernel<Bfloat16>> MakeTileFilter(const Conv2dSpec& spec) {
  return std::make_unique<TileFilter<Tiles>>(spec);
}

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_TILE_FILTER_H_
