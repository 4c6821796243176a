#include "kernels/conv/amx/filter_plan.h"

#include <algorithm>

#include "kernels/conv/direction.h"
#include "kernels/conv/geometry/cache_sets.h"
#include "kernels/workspace/scratch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

// Both copies of a strip stay in the L2 cache while every block is summed over them; across images,
// where all rows that taps share are packed once for each strip, near it.
constexpr int64_t kStripBytes = 2 << 20, kStripBytesAcross = 4 << 20;
// Pixels of a row where rows may be cut anywhere.
constexpr int64_t kPointwiseRow = 512;
// Taps of a block: enough to share what is read once for all of them, and so few that their sums
// stay in the L2 cache.
constexpr int64_t kTapsOfBlock = 32;
// Items for the threads of a call, if each has this many steps. Only where there are fewer blocks
// are they split: the sums of all splits are those of at most 14 blocks, less than 2 MB.
constexpr int64_t kItems = 8, kFewestSteps = 8;

}  // namespace

FilterPlan::Axis FilterPlan::Axis::Of(const Phase& phase) {
  Axis axis;
  axis.phase = phase;
  axis.phase.SetTaps(phase.TapsInside());
  const std::vector<Phase::Tap>& taps = axis.phase.taps;
  if (taps.empty()) return axis;
  axis.span = (taps.back().offset - axis.phase.low) / phase.in_step;
  for (const Phase::Tap& tap : taps) {
    const int64_t residue = (tap.offset - axis.phase.low) % phase.in_step;
    if (std::ranges::find(axis.residues, residue) == axis.residues.end()) {
      axis.residues.push_back(residue);
    }
  }
  if (phase.in_step == 1) {
    const int64_t end = phase.count - 1 + taps.back().offset;  // the last place
    axis.shared =
        std::clamp<int64_t>(std::min(-axis.phase.low, end - (phase.inputs - 1)), 0, axis.span);
  }
  return axis;
}

FilterPlan::FilterPlan(const Conv2dSpec& spec)
    : channels(spec.channels),
      filters(spec.filters),
      batch(spec.batch),
      filters_last(spec.filter_format.value_or(spec.format) == TensorFormat::kNHWC),
      pointwise_pixels(spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0)
                           ? spec.height * spec.width
                           : 0),
      vertical(Axis::Of(VerticalPhases(spec, Direction::kBackwardFilter).front())),
      horizontal(Axis::Of(HorizontalPhases(spec, Direction::kBackwardFilter).front())),
      rows(vertical.phase.count),
      columns(horizontal.phase.count),
      threads(NumThreads()) {
  if (pointwise_pixels > 0) {
    rows = CeilDiv(batch * pointwise_pixels, kPointwiseRow);
    columns = std::min(kPointwiseRow, batch * pointwise_pixels);
  }
  if (FewerAcrossImages(spec)) {
    PlaceAcrossImages();
  } else {
    PlaceWithPadding();
  }
  for (size_t v = 0; v < vertical.phase.taps.size(); ++v) {
    const Phase::Tap& row = vertical.phase.taps[v];
    const int64_t down = row.offset - vertical.phase.low, step = vertical.phase.in_step;
    const auto row_plane = std::ranges::find(vertical.residues, down % step);
    for (const Phase::Tap& column : horizontal.phase.taps) {
      const int64_t right = column.offset - horizontal.phase.low, across = horizontal.phase.in_step;
      const auto column_plane = std::ranges::find(horizontal.residues, right % across);
      taps.push_back({.tap = row.tap * spec.kernel.horizontal + column.tap,
                      .vertical = row.offset,
                      .horizontal = column.offset,
                      .plane = together > 1 ? 0
                                            : (row_plane - vertical.residues.begin()) *
                                                      int64_t(horizontal.residues.size()) +
                                                  (column_plane - horizontal.residues.begin()),
                      .shift = together > 1 ? 0 : down / step * pitch + right / across});
    }
  }
  tap_groups = CeilDiv(int64_t(taps.size()), kTapsOfBlock);
  place.assign(size_t(spec.kernel.vertical * spec.kernel.horizontal), -1);
  for (size_t i = 0; i < taps.size(); ++i) place[size_t(taps[i].tap)] = int64_t(i);
  x_pitch = x_pixels;
  if (ShareSets(x_pitch * int64_t(sizeof(Bfloat16)))) x_pitch += kLineElements<Bfloat16>;
  if (!taps.empty()) {
    splits = std::clamp<int64_t>(
        std::min(CeilDiv(kItems, blocks()), pixels / (kDepth * kFewestSteps)), 1, kItems);
  }
}

// Whether there are fewer products if a step is the same pixel of 32 images than if it is 32 pixels
// of a few, with padding between them.
bool FilterPlan::FewerAcrossImages(const Conv2dSpec& spec) const {
  const Axis &v = vertical, &h = horizontal;
  const auto kernel_taps = int64_t(v.phase.taps.size() * h.phase.taps.size());
  // All pixels of x are packed, from as many places; and steps are listed for each tap.
  const bool reads_all = int64_t(v.residues.size()) == v.phase.in_step &&
                         int64_t(h.residues.size()) == h.phase.in_step;
  if (pointwise_pixels > 0 || !reads_all || kernel_taps == 0 || kernel_taps > kTapsOfBlock)
    return false;
  if (std::min(channels, filters) < 16) return false;
  const auto inside = [](const Axis& axis) {
    int64_t sum = 0;
    for (const Phase::Tap& tap : axis.phase.taps) {
      for (int64_t i = 0; i < axis.phase.count; ++i) {
        const int64_t at = i * axis.phase.in_step + tap.offset;
        sum += at >= 0 && at < axis.phase.inputs;
      }
    }
    return sum;
  };
  const int64_t padded = (rows + v.span - v.shared) * (columns + h.span - h.shared);
  return RoundUp(spec.batch, kDepth) * inside(v) * inside(h) < spec.batch * padded * kernel_taps;
}

void FilterPlan::PlaceWithPadding() {
  pitch = columns + horizontal.span - horizontal.shared;
  const int64_t row_bytes =
      pitch * int64_t(sizeof(Bfloat16)) * (planes() * padded_channels() + padded_filters());
  const int64_t fit = std::max<int64_t>(1, kStripBytes / row_bytes);
  image_rows = rows + vertical.span - vertical.shared;
  strip_rows = rows, strip_images = 1;
  if (pointwise_pixels > 0 || image_rows > fit) {
    strip_rows = CeilDiv(rows, CeilDiv(rows, std::min(rows, fit)));
    image_rows = strip_rows + vertical.span;
  } else {
    strip_images = CeilDiv(batch, CeilDiv(batch, std::min(batch, fit / image_rows)));
  }
  const int64_t used = (strip_images - 1) * image_rows * pitch +
                       (strip_images > 1 ? image_rows : strip_rows) * pitch;
  pixels = RoundUp(used, kDepth);
  x_pixels = RoundUp(pixels + vertical.span * pitch + horizontal.span, kDepth);
}

void FilterPlan::PlaceAcrossImages() {
  const Phase& phase = vertical.phase;
  together = kDepth;
  // One plane, in which every input is.
  vertical.residues.resize(1), horizontal.residues.resize(1);
  pitch = columns;
  const int64_t row_bytes =
      together * int64_t(sizeof(Bfloat16)) *
      (phase.in_step * horizontal.phase.inputs * padded_channels() + pitch * padded_filters());
  const int64_t fit = std::max<int64_t>(1, kStripBytesAcross / row_bytes);
  const int64_t all = CeilDiv(batch, together);
  const int64_t groups = std::clamp<int64_t>(fit / rows, 1, all);
  strip_images = CeilDiv(all, CeilDiv(all, groups)) * together;
  strip_rows = CeilDiv(rows, CeilDiv(rows, std::min(rows, fit)));
  image_rows = strip_rows;
  const int64_t reach = phase.taps.back().offset - vertical.phase.low + 1;
  x_rows = std::min(phase.inputs, (strip_rows - 1) * phase.in_step + reach);
  pixels = strip_images * strip_rows * pitch;
  x_pixels = strip_images * x_rows * horizontal.phase.inputs;
}

FilterPlan::Memory FilterPlan::Divide(std::byte* workspace) const {
  ScratchDivider divider(workspace);
  Memory memory;
  memory.sums = divider.Take<float>(in_place() ? 0 : splits * sums_elements());
  memory.bias = divider.Take<float>(splits * padded_filters());
  memory.x = divider.Take<Bfloat16>(planes() * padded_channels() * x_pitch);
  memory.dy = divider.Take<Bfloat16>(padded_filters() * pixels);
  memory.zeros = divider.Take<Bfloat16>(std::max(channels, filters));
  const int64_t lists = together > 1 ? int64_t(taps.size()) : 1;
  memory.steps = divider.Take<tile::Step>(lists * (pixels / kDepth));
  memory.steps_end = divider.Take<int64_t>(together > 1 ? lists * (pixels / kDepth + 1) : 0);
  memory.block = divider.Take<float>(threads * block_elements());
  memory.bytes = divider.bytes();
  return memory;
}

int64_t FilterPlan::block_elements() const {
  return std::min(kTapsOfBlock, int64_t(taps.size())) * std::min<int64_t>(32, padded_channels()) *
         std::min<int64_t>(32, padded_filters());
}

int64_t FilterPlan::RowsOf(int64_t images) const {
  return pointwise_pixels > 0 ? CeilDiv(images * pointwise_pixels, columns) : rows;
}
int64_t FilterPlan::ColumnsOf(int64_t row, int64_t images) const {
  if (pointwise_pixels == 0) return columns;
  return std::min(columns, images * pointwise_pixels - row * columns);
}
// Places of the copy of dy from the first pixel to the last, with the gaps between.
int64_t FilterPlan::UsedPixels(const Strip& strip) const {
  const int64_t groups = CeilDiv(strip.images, together);
  return ((groups - 1) * image_rows + strip.rows) * pitch * together;
}

FilterPlan::Block FilterPlan::BlockAt(int64_t index, int64_t steps) const {
  const auto all = int64_t(taps.size());
  const int64_t tap = index % tap_groups * all / tap_groups;
  const int64_t tap_end = (index % tap_groups + 1) * all / tap_groups;
  index /= tap_groups;
  const int64_t channel_pairs = CeilDiv(channels, int64_t{32});
  const int64_t filter_pairs = CeilDiv(filters, int64_t{32});
  const int64_t channel = index % channel_pairs * 32;
  index /= channel_pairs;
  const int64_t filter = index % filter_pairs * 32, split = index / filter_pairs;
  const int64_t block_channels = std::min<int64_t>(32, channels - channel);
  const int64_t block_filters = std::min<int64_t>(32, filters - filter);
  return {.channel = channel,
          .channels = block_channels,
          .filter = filter,
          .filters = block_filters,
          .rows = channels < kTileRows ? channels : RoundUp(block_channels, 16),
          .columns = RoundUp(block_filters, 16),
          .taps = std::span(taps).subspan(size_t(tap), size_t(tap_end - tap)),
          .split = split,
          .begin = steps * split / splits,
          .end = steps * (split + 1) / splits};
}

}  // namespace dtnn::conv::amx
