#include "kernels/conv/amx/amx.h"

#include <algorithm>

#include "kernels/amx/amx.h"
#include "kernels/amx/tiles.h"
#include "kernels/conv/amx/tile_data.h"
#include "kernels/conv/amx/tile_filter.h"

namespace dtnn::conv {
namespace {

#ifdef DTNN_HAS_TILES
using Tiles = HardwareTiles;
#else
using Tiles = EmulatedTiles;  // never made
#endif

Support SupportOf(const Conv2dSpec& spec, Direction) {
  if (spec.dtype != DType::kBfloat16) return {.refusal = "computes bfloat16 only"};
  return {.refusal = AmxRefusal()};
}

// Tiles are 16 channels by 16 filters and up to 32 deep: of small groups they are mostly empty. The
// gradient of a filter is 32 pixels deep, and packs both images: of few channels that costs more
// than the products.
double Gain(const Conv2dSpec& spec, Direction direction) {
  const auto [least, most] = std::minmax(spec.channels, spec.filters);
  const bool filter = direction == Direction::kBackwardFilter;
  if (filter && spec.batch * spec.out_height() * spec.out_width() < 32) return 0;
  return least / spec.groups >= 3 && most / spec.groups >= (filter ? 16 : 8) ? 8 : 0;
}

}  // namespace

constexpr Variant kAmx = {
    .name = "amx",
    .support = &SupportOf,
    .gain = &Gain,
    .bf16 = {.data = &amx::MakeTileData<Tiles>, .filter = &amx::MakeTileFilter<Tiles>},
};

}  // namespace dtnn::conv
