#include "kernels/conv/amx/tile_plan.h"

#include <algorithm>

#include "kernels/amx/products.h"
#include "kernels/conv/geometry/cache_sets.h"
#include "tensor/float16.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

// The copy of a block's inputs shares the L2 cache with a pair of panels of the filter.
constexpr int64_t kBlockBytes = 512 << 10;
// The inputs and outputs of a block of a pointwise product.
constexpr int64_t kPointwiseBytes = 512 << 10;
// Maps up to this width are computed across images, this many at a time, where there are enough.
constexpr int64_t kSmallWidth = 8;
constexpr int64_t kImagesTogether = 32;
constexpr int64_t kFewestImages = 12;

// Whether the taps are neighbours, in the kernel and in the images.
bool Neighbours(const std::vector<Phase::Tap>& taps) {
  for (size_t i = 1; i < taps.size(); ++i) {
    if (taps[i].offset != taps[i - 1].offset + 1 ||
        taps[i].tap - taps[i - 1].tap != taps[1].tap - taps[0].tap) {
      return false;
    }
  }
  return taps.size() > 1;
}

// One map, small enough, of enough images: how many of them make a block.
int64_t GroupImages(const Conv2dSpec& spec, const Phase& vertical, const Phase& horizontal) {
  if (spec.batch < kFewestImages || horizontal.count > kSmallWidth ||
      vertical.count > 2 * kSmallWidth) {
    return 1;
  }
  return std::min(kImagesTogether, spec.batch);
}

}  // namespace

TilePlan::TilePlan(const Conv2dSpec& spec, Direction direction)
    : backward_(direction == Direction::kBackwardData),
      kernel_width_(spec.kernel.horizontal),
      depth_(backward_ ? spec.filters : spec.channels),
      out_channels_(backward_ ? spec.channels : spec.filters),
      batch_(spec.batch),
      vertical_(VerticalPhases(spec, direction)),
      horizontal_(HorizontalPhases(spec, direction)),
      pointwise_(spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0) &&
                 Depth::Of(depth_, 1).channels == depth_),
      group_images_(pointwise_ ? 1 : GroupImages(spec, vertical_.front(), horizontal_.front())),
      large_filter_(spec.kernel.vertical * spec.kernel.horizontal * out_channels_ >
                    spec.batch * vertical_.front().inputs * horizontal_.front().inputs),
      threads_(NumThreads()) {
  if (pointwise_) {
    // One row of all pixels of the batch; a call may bring fewer.
    vertical_.front().count = vertical_.front().inputs = 1;
    horizontal_.front().count = horizontal_.front().inputs = spec.batch * spec.height * spec.width;
  }
  for (const Phase& vertical : vertical_) {
    for (const Phase& horizontal : horizontal_) {
      parts_.push_back(MakePart(vertical, horizontal));
      parts_.back().derived = derived_;
      derived_ += parts_.back().panel() * panels();
    }
  }
}

TilePlan::Part TilePlan::MakePart(const Phase& vertical, const Phase& horizontal) const {
  Part part;
  part.vertical = &vertical, part.horizontal = &horizontal;
  const std::vector<Phase::Tap> rows = vertical.TapsInside(), columns = horizontal.TapsInside();
  part.depth = Depth::Of(depth_, 1);
  if (!rows.empty() && !columns.empty()) {
    part.low_row = rows.front().offset;
    part.row_span = rows.back().offset - part.low_row;
    part.low_column = columns.front().offset;
    part.column_span = columns.back().offset - part.low_column;
    if (columns.size() > 1) part.column_step = horizontal.in_step;
    if (group_images_ == 1 && Neighbours(columns)) {
      const auto taps = int64_t(columns.size());
      const Depth together = Depth::Of(depth_, taps);
      if (together.steps < taps * part.depth.steps) {
        part.depth = together;
        part.run_taps = taps;
        part.tap_step = columns[1].tap - columns[0].tap;
      }
    }
    for (const Phase::Tap& row : rows) {
      part.planes = std::max(part.planes, (row.offset - part.low_row) % vertical.in_step + 1);
      for (size_t i = 0; i < columns.size(); i += size_t(part.run_taps)) {
        part.runs.push_back(
            {row.offset, columns[i].offset, row.tap * kernel_width_ + columns[i].tap});
      }
    }
  }
  part.pitch = part.depth.channels;
  const int64_t step_bytes = part.column_step * part.pitch * int64_t(sizeof(Bfloat16));
  if (part.run_taps == 1 && ShareSets(step_bytes)) part.pitch += kLineElements<Bfloat16>;
  Cut(part);
  return part;
}

void TilePlan::Cut(Part& part) const {
  const Phase &vertical = *part.vertical, &horizontal = *part.horizontal;
  part.rows = vertical.count, part.columns = horizontal.count;
  if (group_images_ > 1) return;
  if (pointwise_) {
    // Blocks of equal size, as many for each thread.
    constexpr int64_t kRows = 32;
    const int64_t fit = kPointwiseBytes / ((depth_ + out_channels_) * int64_t(sizeof(Bfloat16)));
    int64_t blocks = CeilDiv(horizontal.count, std::max(2 * kRows, fit));
    blocks = std::max(blocks, std::min(CeilDiv(horizontal.count, kRows),
                                       CeilDiv(2 * int64_t{threads_}, pairs())));
    if (blocks > threads_) blocks = RoundUp(blocks, int64_t{threads_});
    part.columns = RoundUp(CeilDiv(horizontal.count, blocks), kRows);
    part.column_blocks = CeilDiv(horizontal.count, part.columns);
    return;
  }
  const auto fits = [&] {
    return CopyElements(Largest(part)) * int64_t(sizeof(Bfloat16)) <= kBlockBytes;
  };
  const auto split = [](int64_t& extent) { extent = CeilDiv(extent, int64_t{2}); };
  while (part.rows > 1 && !fits()) split(part.rows);
  while (part.columns > 32 && !fits()) split(part.columns);
  // Enough blocks to share, where one image is all there is.
  while (batch_ * CeilDiv(vertical.count, part.rows) * CeilDiv(horizontal.count, part.columns) <
             4 * threads_ &&
         (part.rows > 1 || part.columns >= 64)) {
    split(part.rows > 1 ? part.rows : part.columns);
  }
  part.row_blocks = CeilDiv(vertical.count, part.rows);
  part.column_blocks = CeilDiv(horizontal.count, part.columns);
}

TilePlan::Block TilePlan::Largest(const Part& part) const {
  return {&part, 0, group_images_, 0, part.rows, 0, part.columns};
}

TilePlan::Layout TilePlan::LayoutOf(const Block& block) const {
  const Part& part = *block.part;
  const Phase &vertical = *part.vertical, &horizontal = *part.horizontal;
  Layout layout;
  layout.reach = (block.columns() - 1) * part.column_step + part.column_span + 1;
  // Zeros at the end of a row and at the beginning of the next one may be the same.
  int64_t shared = 0;
  if (block.columns() == horizontal.count) {
    const int64_t last =
        (horizontal.count - 1) * part.column_step + part.low_column + part.column_span;
    shared = std::clamp<int64_t>(std::min(-part.low_column, last - (horizontal.inputs - 1)), 0,
                                 part.column_span);
  }
  layout.pitch = RoundUp(layout.reach - shared, part.column_step);
  layout.tile_pitch = layout.pitch / part.column_step;
  const int64_t row_span = part.row_span / vertical.in_step;
  layout.plane = (block.rows() + row_span) * layout.pitch;
  const int64_t tile_rows =
      RoundUp((block.rows() - 1) * layout.tile_pitch + block.columns(), int64_t{kTileRows});
  const int64_t read =
      row_span * layout.pitch + (tile_rows - 1) * part.column_step + part.column_span + 1;
  layout.pixels =
      (part.planes - 1) * layout.plane + std::max(read, layout.plane - layout.pitch + layout.reach);
  return layout;
}

int64_t TilePlan::CopyElements(const Block& block) const {
  const Part& part = *block.part;
  if (pointwise_ || part.runs.empty()) return 0;
  if (group_images_ > 1) {
    return part.vertical->inputs * part.horizontal->inputs *
           RoundUp(group_images_, int64_t{kTileRows}) * part.pitch;
  }
  return LayoutOf(block).pixels * part.pitch;
}

int64_t TilePlan::blocks() const {
  int64_t blocks = 0;
  for (const Part& part : parts_) blocks += part.blocks();
  return blocks;
}

TilePlan::Block TilePlan::BlockAt(int64_t index, int64_t images) const {
  const int64_t group = index / blocks();
  int64_t at = index % blocks();
  const Part* part = parts_.data();
  while (at >= part->blocks()) at -= part++->blocks();
  const Phase &vertical = *part->vertical, &horizontal = *part->horizontal;
  // A call may bring fewer images than the one row was made for.
  const int64_t width = pointwise_ ? horizontal.count / batch_ * images : horizontal.count;
  Block block;
  block.part = part;
  block.image = group * group_images_;
  block.images = std::min(group_images_, images - block.image);
  block.row = at / part->column_blocks * part->rows;
  block.row_end = std::min(block.row + part->rows, vertical.count);
  block.column = at % part->column_blocks * part->columns;
  block.column_end = std::min(block.column + part->columns, width);
  return block;
}

}  // namespace dtnn::conv::amx
