// A block: 2 tiles of 16 pixels times 1 or 2 tiles of 16 filters.

#include "kernels/amx/tiles.h"
#include "kernels/int8/products.h"

namespace dtnn::int8 {
namespace {

constexpr int64_t kSumsPitch = kBlockFilters * int64_t(sizeof(int32_t));

template <int kColumns, class Tiles>
void MultiplyBlock(Tiles& tiles, const Products& p) {
  tiles.template Zero<0>();
  tiles.template Zero<1>();
  if constexpr (kColumns == 2) {
    tiles.template Zero<2>();
    tiles.template Zero<3>();
  }
  for (const Step* step = p.steps; step != p.steps + p.step_count; ++step) {
    const std::byte* const pixels = p.pixels + step->pixel;
    const std::byte* const panel = p.panels + step->panel;
    tiles.template Load<6>(panel, kTileBytes);
    tiles.template Load<4>(pixels, p.pixel_step);
    tiles.template MultiplyBytes<0, 4, 6>();
    tiles.template Load<5>(pixels + kTileRows * p.pixel_step, p.pixel_step);
    tiles.template MultiplyBytes<1, 5, 6>();
    if constexpr (kColumns == 2) {
      tiles.template Load<7>(panel + p.panel_bytes, kTileBytes);
      tiles.template MultiplyBytes<2, 4, 7>();
      tiles.template MultiplyBytes<3, 5, 7>();
    }
  }
  tiles.template Store<0>(p.sums, kSumsPitch);
  tiles.template Store<1>(p.sums + kTileRows * kBlockFilters, kSumsPitch);
  if constexpr (kColumns == 2) {
    tiles.template Store<2>(p.sums + kPanelFilters, kSumsPitch);
    tiles.template Store<3>(p.sums + kTileRows * kBlockFilters + kPanelFilters, kSumsPitch);
  }
}

template <class Tiles>
void MultiplyIn(Tiles& tiles, const Products& p) {
  if (p.panel_count == 2) {
    MultiplyBlock<2>(tiles, p);
  } else {
    MultiplyBlock<1>(tiles, p);
  }
}

void EmulatedMultiply(const Products& p) {
  EmulatedTiles tiles;
  tiles.Configure(ByteProductShapes(p.depth));
  MultiplyIn(tiles, p);
}

#ifdef DTNN_HAS_TILES
void Begin(int depth) { HardwareTiles().Configure(ByteProductShapes(depth)); }
void Multiply(const Products& p) {
  HardwareTiles tiles;
  MultiplyIn(tiles, p);
}
void End() { HardwareTiles().Release(); }
#endif

}  // namespace

const ProductKernel& EmulatedTileProducts() {
  static constexpr ProductKernel kKernel = {.rows = 2 * kTileRows,
                                            .tap_bytes = kMostDepth,
                                            .speed = 8,
                                            .begin = [](int) {},
                                            .multiply = EmulatedMultiply,
                                            .end = [] {}};
  return kKernel;
}

const ProductKernel& TileProducts() {
#ifdef DTNN_HAS_TILES
  static constexpr ProductKernel kKernel = {.rows = 2 * kTileRows,
                                            .tap_bytes = kMostDepth,
                                            .speed = 8,
                                            .begin = Begin,
                                            .multiply = Multiply,
                                            .end = End};
  return kKernel;
#else
  return EmulatedTileProducts();
#endif
}

}  // namespace dtnn::int8
