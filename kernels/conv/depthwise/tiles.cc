#include "kernels/conv/depthwise/tiles.h"

#include <algorithm>

#include "tensor/rounding.h"

namespace dtnn::conv::depthwise {
namespace {

// Of both sides of a tile, all channels: what the second cache keeps, whoever shares it.
constexpr int64_t kTileBytes = 128 << 10;
// Of the inputs of a block of channels of several images: most of the first cache.
constexpr int64_t kBlockBytes = 20 << 10;
constexpr int64_t kMostColumns = 128;

// Rows of a tile: at least as many as the kernel spans, since what spans two tiles is read twice.
int64_t MostRows(const Axis& rows, const Axis& columns, int64_t pixel) {
  const int64_t row =
      (rows.in_step() * columns.inputs() + rows.out_step() * columns.results()) * pixel;
  return std::max<int64_t>({kTileBytes / row, rows.Inputs({0, 1}).size(), 1});
}

}  // namespace

Tiles::Tiles(const Axis& rows, const Axis& columns, int64_t batch, int64_t pixel, int64_t block)
    : rows_(rows.steps(), MostRows(rows, columns, pixel)),
      columns_(columns.steps(), kMostColumns),
      images_(1) {
  const Range most_rows = {0, rows_.largest()}, most_columns = {0, columns_.largest()};
  const int64_t in = rows.Inputs(most_rows).size() * columns.Inputs(most_columns).size();
  const int64_t out = rows.Results(most_rows).size() * columns.Results(most_columns).size();
  if (rows_.parts * columns_.parts == 1) {
    const int64_t image =
        (rows.inputs() * columns.inputs() + rows.results() * columns.results()) * pixel;
    const int64_t fit =
        std::min(kTileBytes / image, kBlockBytes / std::max<int64_t>(in * block, 1));
    images_ = std::clamp<int64_t>(fit, 1, batch);
  }
  in_pixels_ = images_ * in;
  out_pixels_ = images_ * out;
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
