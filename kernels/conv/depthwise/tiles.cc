#include "kernels/conv/depthwise/tiles.h"

#include <algorithm>

#include "tensor/rounding.h"

namespace dtnn::conv::depthwise {
namespace {

// Bytes of both sides of a tile, all channels: as many as the L2 cache keeps, also where it is
// shared.
constexpr int64_t kTileBytes = 128 << 10;
constexpr int64_t kMostColumns = 128;

// Rows of a tile: at least as many as the kernel spans, since what spans two tiles is read twice.
int64_t MostRows(const Axis& rows, const Axis& columns, int64_t pixel, int64_t fewest) {
  const int64_t row =
      (rows.in_step() * columns.inputs() + rows.out_step() * columns.results()) * pixel;
  return std::max<int64_t>(
      {kTileBytes / row, rows.Inputs({0, 1}).size(), CeilDiv(fewest, columns.results())});
}

}  // namespace

Tiles::Tiles(const Axis& rows, const Axis& columns, int64_t batch, int64_t pixel, int64_t fewest)
    : rows_(rows.steps(), MostRows(rows, columns, pixel, fewest)),
      columns_(columns.steps(), kMostColumns),
      images_(1) {
  if (rows_.parts * columns_.parts == 1) {
    const int64_t image =
        (rows.inputs() * columns.inputs() + rows.results() * columns.results()) * pixel;
    const int64_t most =
        std::max(kTileBytes / image, CeilDiv(fewest, rows.results() * columns.results()));
    images_ = std::clamp<int64_t>(most, 1, batch);
  }
}

int64_t Tiles::Count(int64_t images) const {
  return CeilDiv(images, images_) * rows_.parts * columns_.parts;
}

Tile Tiles::At(int64_t index, int64_t images) const {
  const int64_t first = index / (rows_.parts * columns_.parts) * images_;
  return {.images = {first, std::min(images, first + images_)},
          .rows = rows_.At(index / columns_.parts % rows_.parts),
          .columns = columns_.At(index % columns_.parts)};
}

}  // namespace dtnn::conv::depthwise
