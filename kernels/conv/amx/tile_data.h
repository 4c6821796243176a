// Forward and backward data in tiles of bfloat16.
//
// A tile of rows is read from the images as they lie: its rows are neighbouring pixels, and a tap
// of the kernel is an offset. Rows run on from one row of the map into the next, over the padding
// between them, whose results are thrown away; or, on small maps, they are the same pixel of
// several images, so that taps in the padding are left out and no row is lost. The inputs of a
// block are copied once for all taps, with zeros around them, unless the kernel is 1x1 and the
// channels fill the tiles. With a stride, dx is computed phase by phase (geometry/phases.h).
//
// A block's sums are written back while the next one multiplies.

#ifndef DTNN_KERNELS_CONV_AMX_TILE_DATA_H_
#define DTNN_KERNELS_CONV_AMX_TILE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/amx/dots.h"
#include "kernels/amx/products.h"
#include "kernels/amx/tiles.h"
#include "kernels/conv/amx/pack_filter.h"
#include "kernels/conv/amx/tile_plan.h"
#include "kernels/conv/geometry/untapped.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::amx {

// Tiles: HardwareTiles, HardwareDots, or an emulation of one of them.
template <class Tiles>
class TileData final : public DataKernel<Bfloat16> {
 public:
  TileData(const Conv2dSpec& spec, Direction direction)
      : plan_(spec, direction), untapped_(spec, direction) {}

  int64_t derived_elements() const override { return plan_.derived_elements(); }
  void DeriveFilter(const Filter<const Bfloat16>& filter, Bfloat16* derived,
                    std::byte*) const override {
    PackFilter(plan_, filter, Tiles::kHardware, derived);
  }
  size_t workspace_bytes() const override { return size_t(plan_.threads()) * thread_bytes(); }
  void Run(const Call& call) const override;

 private:
  using Part = TilePlan::Part;
  using Block = TilePlan::Block;
  using Layout = TilePlan::Layout;
  struct Scratch {  // one thread's
    Bfloat16 *copy, *tail;
    tile::Step* steps;
    float* sums[2];
    size_t bytes;
  };
  // The rows of tiles of a block, and how they are multiplied.
  struct Rows {
    const Bfloat16* a = nullptr;
    int64_t pitch = 0;  // in bytes
    int64_t first = 0, count = 0;
    const tile::Step* steps = nullptr;
    int64_t step_count = 0;
    int64_t row = 0, column = 0;  // across images: which result
  };
  class Writer;

  Scratch Divide(std::byte* memory) const;
  size_t thread_bytes() const { return Divide(nullptr).bytes; }
  int64_t ListSteps(const Block& block, tile::Step* steps) const;
  int64_t ListStepsAt(const Part& part, int64_t row, int64_t column, tile::Step* steps) const;
  void RunBlock(Tiles& tiles, const Call& call, const Block& block, int64_t first_pair,
                int64_t last_pair, const Scratch& scratch) const;
  void Multiply(Tiles& tiles, const Rows& rows, const Bfloat16* filter, int64_t panel,
                Writer& writer) const;

  TilePlan plan_;
  Untapped untapped_;
};

template <class Tiles>
std::unique_ptr<DataKernel<Bfloat16>> MakeTileData(const Conv2dSpec& spec, Direction direction) {
  return std::make_unique<TileData<Tiles>>(spec, direction);
}

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_TILE_DATA_H_
