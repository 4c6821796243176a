#include "kernels/conv/amx/tile_filter.h"

#include <algorithm>
#include <type_traits>

#include "kernels/amx/packing.h"
#include "kernels/conv/amx/add_sums.h"
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
constexpr int64_t kDepth = 32;    // pixels of a step
constexpr int64_t kChunk = 10;    // steps
constexpr int64_t kPlaces = 128;  // that are packed at a time
// Taps of a block: enough to share what is read once for all of them, and so few that their sums
// stay in the L2 cache.
constexpr int64_t kTapsOfBlock = 32;
// Items for the threads of a call, if each has this many steps. Only where there are fewer blocks
// are they split: the sums of all splits are those of at most 14 blocks, less than 2 MB.
constexpr int64_t kItems = 8, kFewestSteps = 8;

}  // namespace

template <class Tiles>
typename TileFilter<Tiles>::Axis TileFilter<Tiles>::Axis::Of(const Phase& phase) {
  Axis axis;
  axis.phase = phase;
  axis.phase.taps = phase.TapsInside();
  const std::vector<Phase::Tap>& taps = axis.phase.taps;
  if (taps.empty()) return axis;
  axis.low = taps.front().offset;
  axis.span = (taps.back().offset - axis.low) / phase.in_step;
  for (const Phase::Tap& tap : taps) {
    const int64_t residue = (tap.offset - axis.low) % phase.in_step;
    if (std::ranges::find(axis.residues, residue) == axis.residues.end()) {
      axis.residues.push_back(residue);
    }
  }
  if (phase.in_step == 1) {
    const int64_t end = phase.count - 1 + taps.back().offset;  // the last place
    axis.shared = std::clamp<int64_t>(std::min(-axis.low, end - (phase.inputs - 1)), 0, axis.span);
  }
  return axis;
}

template <class Tiles>
TileFilter<Tiles>::TileFilter(const Conv2dSpec& spec)
    : channels_(spec.channels),
      filters_(spec.filters),
      batch_(spec.batch),
      filters_last_(spec.filter_format.value_or(spec.format) == TensorFormat::kNHWC),
      pointwise_pixels_(spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0)
                            ? spec.height * spec.width
                            : 0),
      vertical_(Axis::Of(VerticalPhases(spec, Direction::kBackwardFilter).front())),
      horizontal_(Axis::Of(HorizontalPhases(spec, Direction::kBackwardFilter).front())),
      rows_(vertical_.phase.count),
      columns_(horizontal_.phase.count),
      threads_(NumThreads()) {
  if (pointwise_pixels_ > 0) {
    rows_ = CeilDiv(batch_ * pointwise_pixels_, kPointwiseRow);
    columns_ = std::min(kPointwiseRow, batch_ * pointwise_pixels_);
  }
  if (FewerAcrossImages(spec)) {
    PlaceAcrossImages();
  } else {
    PlaceWithPadding();
  }
  for (size_t v = 0; v < vertical_.phase.taps.size(); ++v) {
    const Phase::Tap& row = vertical_.phase.taps[v];
    const int64_t down = row.offset - vertical_.low, step = vertical_.phase.in_step;
    const auto row_plane = std::ranges::find(vertical_.residues, down % step);
    for (const Phase::Tap& column : horizontal_.phase.taps) {
      const int64_t right = column.offset - horizontal_.low, across = horizontal_.phase.in_step;
      const auto column_plane = std::ranges::find(horizontal_.residues, right % across);
      taps_.push_back({.tap = row.tap * spec.kernel.horizontal + column.tap,
                       .vertical = row.offset,
                       .horizontal = column.offset,
                       .plane = together_ > 1 ? 0
                                              : (row_plane - vertical_.residues.begin()) *
                                                        int64_t(horizontal_.residues.size()) +
                                                    (column_plane - horizontal_.residues.begin()),
                       .shift = together_ > 1 ? 0 : down / step * pitch_ + right / across});
    }
  }
  tap_groups_ = CeilDiv(int64_t(taps_.size()), kTapsOfBlock);
  place_.assign(size_t(spec.kernel.vertical * spec.kernel.horizontal), -1);
  for (size_t i = 0; i < taps_.size(); ++i) place_[size_t(taps_[i].tap)] = int64_t(i);
  x_pitch_ = x_pixels_;
  if (ShareSets(x_pitch_ * int64_t(sizeof(Bfloat16)))) x_pitch_ += kLineElements<Bfloat16>;
  if (!taps_.empty()) {
    splits_ = std::clamp<int64_t>(
        std::min(CeilDiv(kItems, blocks()), pixels_ / (kDepth * kFewestSteps)), 1, kItems);
  }
}

// Whether there are fewer products if a step is the same pixel of 32 images than if it is 32 pixels
// of a few, with padding between them.
template <class Tiles>
bool TileFilter<Tiles>::FewerAcrossImages(const Conv2dSpec& spec) const {
  const Axis &v = vertical_, &h = horizontal_;
  const auto taps = int64_t(v.phase.taps.size() * h.phase.taps.size());
  // All pixels of x are packed, from as many places; and steps are listed for each tap.
  const bool reads_all = int64_t(v.residues.size()) == v.phase.in_step &&
                         int64_t(h.residues.size()) == h.phase.in_step;
  if (pointwise_pixels_ > 0 || !reads_all || taps == 0 || taps > kTapsOfBlock) return false;
  if (std::min(channels_, filters_) < 16) return false;
  const auto inside = [](const Axis& axis) {
    int64_t pixels = 0;
    for (const Phase::Tap& tap : axis.phase.taps) {
      for (int64_t i = 0; i < axis.phase.count; ++i) {
        const int64_t at = i * axis.phase.in_step + tap.offset;
        pixels += at >= 0 && at < axis.phase.inputs;
      }
    }
    return pixels;
  };
  const int64_t padded = (rows_ + v.span - v.shared) * (columns_ + h.span - h.shared);
  return RoundUp(spec.batch, kDepth) * inside(v) * inside(h) < spec.batch * padded * taps;
}

template <class Tiles>
void TileFilter<Tiles>::PlaceWithPadding() {
  pitch_ = columns_ + horizontal_.span - horizontal_.shared;
  const int64_t row_bytes =
      pitch_ * int64_t(sizeof(Bfloat16)) * (planes() * padded_channels() + padded_filters());
  const int64_t fit = std::max<int64_t>(1, kStripBytes / row_bytes);
  image_rows_ = rows_ + vertical_.span - vertical_.shared;
  strip_rows_ = rows_, strip_images_ = 1;
  if (pointwise_pixels_ > 0 || image_rows_ > fit) {
    strip_rows_ = CeilDiv(rows_, CeilDiv(rows_, std::min(rows_, fit)));
    image_rows_ = strip_rows_ + vertical_.span;
  } else {
    strip_images_ = CeilDiv(batch_, CeilDiv(batch_, std::min(batch_, fit / image_rows_)));
  }
  const int64_t used = (strip_images_ - 1) * image_rows_ * pitch_ +
                       (strip_images_ > 1 ? image_rows_ : strip_rows_) * pitch_;
  pixels_ = RoundUp(used, kDepth);
  x_pixels_ = RoundUp(pixels_ + vertical_.span * pitch_ + horizontal_.span, kDepth);
}

template <class Tiles>
void TileFilter<Tiles>::PlaceAcrossImages() {
  const Phase& phase = vertical_.phase;
  together_ = kDepth;
  // One plane, in which every input is.
  vertical_.residues.resize(1), horizontal_.residues.resize(1);
  pitch_ = columns_;
  const int64_t row_bytes =
      together_ * int64_t(sizeof(Bfloat16)) *
      (phase.in_step * horizontal_.phase.inputs * padded_channels() + pitch_ * padded_filters());
  const int64_t fit = std::max<int64_t>(1, kStripBytesAcross / row_bytes);
  const int64_t all = CeilDiv(batch_, together_);
  const int64_t groups = std::clamp<int64_t>(fit / rows_, 1, all);
  strip_images_ = CeilDiv(all, CeilDiv(all, groups)) * together_;
  strip_rows_ = CeilDiv(rows_, CeilDiv(rows_, std::min(rows_, fit)));
  image_rows_ = strip_rows_;
  const int64_t reach = phase.taps.back().offset - vertical_.low + 1;
  x_rows_ = std::min(phase.inputs, (strip_rows_ - 1) * phase.in_step + reach);
  pixels_ = strip_images_ * strip_rows_ * pitch_;
  x_pixels_ = strip_images_ * x_rows_ * horizontal_.phase.inputs;
}

template <class Tiles>
typename TileFilter<Tiles>::Memory TileFilter<Tiles>::Divide(std::byte* workspace) const {
  ScratchDivider divider(workspace);
  Memory memory;
  memory.sums = divider.Take<float>(in_place() ? 0 : splits_ * sums_elements());
  memory.bias = divider.Take<float>(splits_ * padded_filters());
  memory.x = divider.Take<Bfloat16>(planes() * padded_channels() * x_pitch_);
  memory.dy = divider.Take<Bfloat16>(padded_filters() * pixels_);
  memory.zeros = divider.Take<Bfloat16>(std::max(channels_, filters_));
  const int64_t lists = together_ > 1 ? int64_t(taps_.size()) : 1;
  memory.steps = divider.Take<tile::Step>(lists * (pixels_ / kDepth));
  memory.steps_end = divider.Take<int64_t>(together_ > 1 ? lists * (pixels_ / kDepth + 1) : 0);
  memory.block = divider.Take<float>(threads_ * block_elements());
  memory.bytes = divider.bytes();
  return memory;
}

template <class Tiles>
int64_t TileFilter<Tiles>::block_elements() const {
  return std::min(kTapsOfBlock, int64_t(taps_.size())) * std::min<int64_t>(32, padded_channels()) *
         std::min<int64_t>(32, padded_filters());
}

template <class Tiles>
int64_t TileFilter<Tiles>::RowsOf(int64_t images) const {
  return pointwise_pixels_ > 0 ? CeilDiv(images * pointwise_pixels_, columns_) : rows_;
}
template <class Tiles>
int64_t TileFilter<Tiles>::ColumnsOf(int64_t row, int64_t images) const {
  if (pointwise_pixels_ == 0) return columns_;
  return std::min(columns_, images * pointwise_pixels_ - row * columns_);
}
// Places of the copy of dy from the first pixel to the last, with the gaps between.
template <class Tiles>
int64_t TileFilter<Tiles>::UsedPixels(const Strip& strip) const {
  const int64_t groups = CeilDiv(strip.images, together_);
  return ((groups - 1) * image_rows_ + strip.rows) * pitch_ * together_;
}

template <class Tiles>
void TileFilter<Tiles>::Sum(const Images<const Bfloat16>& x, const Images<const Bfloat16>& dy,
                            int64_t images, bool first, const Gradient& gradient,
                            std::byte* workspace) const {
  Job job = {x, dy, images, gradient, first, Divide(workspace)};
  const Memory& memory = job.memory;
  if (first) {
    if (in_place()) {
      if (!gradient.accumulate) ZeroTaps(gradient, images == 0);
    } else if (images == 0) {
      std::fill_n(memory.sums, splits_ * sums_elements(), 0.0f);
    }
    std::fill_n(memory.bias, splits_ * padded_filters(), 0.0f);
    std::fill_n(memory.zeros, std::max(channels_, filters_), Bfloat16(0));
    for (int64_t k = 0; together_ == 1 && k < pixels_ / kDepth; ++k) {
      memory.steps[k] = {k * kDepth, k * kDepth * 16};
    }
  }
  if (images == 0) return;
  const int64_t groups = pointwise_pixels_ > 0 ? 1 : CeilDiv(images, strip_images_);
  const int64_t rows = RowsOf(images);
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t image = group * strip_images_;
    const int64_t count = pointwise_pixels_ > 0 ? 1 : std::min(strip_images_, images - image);
    for (int64_t row = 0; row < rows; row += strip_rows_) {
      SumStrip(job, {image, count, row, std::min(strip_rows_, rows - row)});
      job.start = false;
    }
  }
}

template <class Tiles>
void TileFilter<Tiles>::SumStrip(const Job& job, const Strip& strip) const {
  Pack(job, strip);
  if (together_ > 1) ListSteps(job, strip);
  const int64_t steps = CeilDiv(UsedPixels(strip), kDepth);
  const int64_t products = splits_ * blocks();
  const int64_t sums_of_dy = job.gradient.dbias != nullptr ? splits_ * (padded_filters() / 16) : 0;
  const auto sum = [&](int thread, int64_t begin, int64_t end) {
    float* const scratch = job.memory.block + thread * block_elements();
    Tiles tiles;
    // No more rows than there are channels: a product takes a cycle for each row.
    tiles.Configure(ProductShapes(int(kDepth), int(std::min<int64_t>(channels_, kTileRows))));
    for (int64_t item = begin; item < end; ++item) {
      if (item >= products) {
        SumBias(job, item - products, steps);
      } else {
        SumBlock(tiles, job, strip, BlockAt(item, steps), scratch);
      }
    }
    tiles.Release();
  };
  ParallelForWithScratch(products + sums_of_dy, 1, threads_, sum);
}

template <class Tiles>
void TileFilter<Tiles>::Pack(const Job& job, const Strip& strip) const {
  const int64_t of_x = CeilDiv(x_pixels_, kPlaces), of_dy = CeilDiv(pixels_, kPlaces);
  ParallelFor(0, planes() * of_x + of_dy, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      if (item < of_dy) {
        PackDy(job, strip, item * kPlaces);
      } else {
        PackX(job, strip, (item - of_dy) / of_x, (item - of_dy) % of_x * kPlaces);
      }
    }
  });
}

// Calls place(index, image of the strip, row, column) for places [first, first + count) of a copy.
template <class Tiles>
template <class Place>
void TileFilter<Tiles>::ForEachPlace(int64_t first, int64_t count, int64_t columns, int64_t rows,
                                     const Place& place) const {
  int64_t within = first % together_, column = first / together_ % columns;
  int64_t row = first / together_ / columns % rows;
  int64_t image = first / together_ / columns / rows * together_;
  for (int64_t i = 0; i < count; ++i) {
    place(i, image + within, row, column);
    if (++within < together_) continue;
    within = 0;
    if (++column < columns) continue;
    column = 0;
    if (++row < rows) continue;
    row = 0;
    image += together_;
  }
}

// Across images: the pixels that each tap meets, of all groups of the strip.
template <class Tiles>
void TileFilter<Tiles>::ListSteps(const Job& job, const Strip& strip) const {
  const Phase &vertical = vertical_.phase, &horizontal = horizontal_.phase;
  const int64_t most = pixels_ / kDepth, used = UsedPixels(strip) / kDepth;
  const int64_t first = FirstInput(strip);
  ParallelFor(0, int64_t(taps_.size()), 1 + 4096 / used, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Tap& tap = taps_[size_t(i)];
      tile::Step* const steps = job.memory.steps + i * most;
      int64_t* const steps_end = job.memory.steps_end + i * (most + 1);
      int64_t count = steps_end[0] = 0;
      for (int64_t pixel = 0; pixel < used; ++pixel) {
        const int64_t line = pixel / pitch_, row = line % image_rows_;
        const int64_t h = (strip.row + row) * vertical.in_step + tap.vertical;
        const int64_t w = pixel % pitch_ * horizontal.in_step + tap.horizontal;
        if (h >= 0 && h < vertical.inputs && w >= 0 && w < horizontal.inputs) {
          const int64_t input = line / image_rows_ * x_rows_ + h - first;
          steps[count++] = {(input * horizontal.inputs + w) * kDepth, pixel * kDepth * 16};
        }
        steps_end[pixel + 1] = count;
      }
    }
  });
}

template <class Tiles>
void TileFilter<Tiles>::PackDy(const Job& job, const Strip& strip, int64_t first) const {
  const Bfloat16* at[kPlaces];
  const int64_t count = std::min(kPlaces, pixels_ - first);
  ForEachPlace(first, count, [&](int64_t i, int64_t image, int64_t row, int64_t column) {
    const Bfloat16* const pixel = DyAt(job, strip, image, row, column);
    at[i] = pixel == nullptr ? job.memory.zeros : pixel;
  });
  const tile::Pixels pixels = {at, count, filters_};
  Bfloat16* const to = job.memory.dy + first * 16;
  Tiles::kHardware ? tile::PackPairsInVectors(pixels, to, panel())
                   : tile::PackPairsPlainly(pixels, to, panel());
}

template <class Tiles>
void TileFilter<Tiles>::PackX(const Job& job, const Strip& strip, int64_t plane,
                              int64_t first) const {
  const Bfloat16* at[kPlaces];
  const int64_t count = std::min(kPlaces, x_pixels_ - first);
  if (together_ > 1) {
    const int64_t first_row = FirstInput(strip), columns = horizontal_.phase.inputs;
    ForEachPlace(
        first, count, columns, x_rows_, [&](int64_t i, int64_t image, int64_t row, int64_t column) {
          const int64_t h = first_row + row;
          const bool there = image < strip.images && h < vertical_.phase.inputs;
          at[i] =
              there ? job.x.At(strip.image + image, h) + column * job.x.pixel : job.memory.zeros;
        });
  } else {
    const auto width = int64_t(horizontal_.residues.size());
    const int64_t down = vertical_.low + vertical_.residues[size_t(plane / width)];
    const int64_t right = horizontal_.low + horizontal_.residues[size_t(plane % width)];
    ForEachPlace(first, count, [&](int64_t i, int64_t image, int64_t row, int64_t column) {
      const Bfloat16* const pixel = XAt(job, strip, image, row, column, down, right);
      at[i] = pixel == nullptr ? job.memory.zeros : pixel;
    });
  }
  const tile::Pixels pixels = {at, count, channels_};
  Bfloat16* const to = XPlane(job.memory, plane) + first;
  Tiles::kHardware ? tile::TransposeInVectors(pixels, to, x_pitch_)
                   : tile::TransposePlainly(pixels, to, x_pitch_);
}

// The pixel of dy at a place of its copy, and that of x at the same place of a copy whose first
// input is (down, right); null where there is none.
template <class Tiles>
const Bfloat16* TileFilter<Tiles>::DyAt(const Job& job, const Strip& strip, int64_t image,
                                        int64_t row, int64_t column) const {
  const int64_t line = strip.row + row;
  if (image >= strip.images || row >= strip.rows || column >= ColumnsOf(line, job.images)) {
    return nullptr;
  }
  if (pointwise_pixels_ > 0) return job.dy.data + (line * columns_ + column) * job.dy.pixel;
  return job.dy.At(strip.image + image, line) + column * job.dy.pixel;
}
template <class Tiles>
const Bfloat16* TileFilter<Tiles>::XAt(const Job& job, const Strip& strip, int64_t image,
                                       int64_t row, int64_t column, int64_t down,
                                       int64_t right) const {
  if (pointwise_pixels_ > 0) {
    if (DyAt(job, strip, image, row, column) == nullptr) return nullptr;
    return job.x.data + ((strip.row + row) * columns_ + column) * job.x.pixel;
  }
  const int64_t h = (strip.row + row) * vertical_.phase.in_step + down;
  const int64_t w = column * horizontal_.phase.in_step + right;
  if (image >= strip.images || h < 0 || h >= vertical_.phase.inputs || w < 0 ||
      w >= horizontal_.phase.inputs) {
    return nullptr;
  }
  return job.x.At(strip.image + image, h) + w * job.x.pixel;
}

template <class Tiles>
typename TileFilter<Tiles>::Block TileFilter<Tiles>::BlockAt(int64_t index, int64_t steps) const {
  const auto taps = int64_t(taps_.size());
  const int64_t tap = index % tap_groups_ * taps / tap_groups_;
  const int64_t tap_end = (index % tap_groups_ + 1) * taps / tap_groups_;
  index /= tap_groups_;
  const int64_t channel_pairs = CeilDiv(channels_, int64_t{32});
  const int64_t filter_pairs = CeilDiv(filters_, int64_t{32});
  const int64_t channel = index % channel_pairs * 32;
  index /= channel_pairs;
  const int64_t filter = index % filter_pairs * 32, split = index / filter_pairs;
  const int64_t channels = std::min<int64_t>(32, channels_ - channel);
  const int64_t filters = std::min<int64_t>(32, filters_ - filter);
  return {.channel = channel,
          .channels = channels,
          .filter = filter,
          .filters = filters,
          .rows = channels_ < kTileRows ? channels_ : RoundUp(channels, 16),
          .columns = RoundUp(filters, 16),
          .taps = std::span(taps_).subspan(size_t(tap), size_t(tap_end - tap)),
          .split = split,
          .begin = steps * split / splits_,
          .end = steps * (split + 1) / splits_};
}

// A chunk of the steps at a time for all taps of a block, whose operands stay in the L1 cache.
template <class Tiles>
template <int kRows, int kColumns>
void TileFilter<Tiles>::Multiply(Tiles& tiles, const Job& job, const Block& block,
                                 float* sums) const {
  const Memory& memory = job.memory;
  const Bfloat16* const b = memory.dy + block.filter / 16 * panel();
  int64_t begin = block.begin;
  do {
    const int64_t count = std::min(kChunk, block.end - begin);
    float* to = sums;
    for (const Tap& tap : block.taps) {
      const Bfloat16* const a = XPlane(memory, tap.plane) + block.channel * x_pitch_ + tap.shift;
      const int64_t pitch = x_pitch_ * int64_t(sizeof(Bfloat16));
      const tile::Step* steps = memory.steps + begin;
      int64_t there = count;
      if (together_ > 1) {
        const int64_t list = &tap - taps_.data(), most = pixels_ / kDepth;
        const int64_t* const ends = memory.steps_end + list * (most + 1) + begin;
        steps = memory.steps + list * most + ends[0];
        there = ends[count] - ends[0];
      }
      if (begin == block.begin) {
        tile::MultiplyBlock<kRows, kColumns>(tiles, a, pitch, b, panel(), steps, there, to);
      } else if (there > 0) {
        tile::MultiplyBlock<kRows, kColumns, true>(tiles, a, pitch, b, panel(), steps, there, to);
      }
      to += block.rows * block.columns;
    }
    begin += count;
  } while (begin < block.end);
}

template <class Tiles>
void TileFilter<Tiles>::SumBlock(Tiles& tiles, const Job& job, const Strip& strip,
                                 const Block& block, float* scratch) const {
  if (block.channels > 16) {
    block.filters > 16 ? Multiply<2, 2>(tiles, job, block, scratch)
                       : Multiply<2, 1>(tiles, job, block, scratch);
  } else {
    block.filters > 16 ? Multiply<1, 2>(tiles, job, block, scratch)
                       : Multiply<1, 1>(tiles, job, block, scratch);
  }
  const Filter<float>& dfilter = job.gradient.dfilter;
  for (const Tap& tap : block.taps) {
    const BlockSums sums = {scratch, block.channels, block.filters, block.columns};
    const bool nan = Tiles::kHardware ? HasNaNInVectors(sums) : HasNaNPlainly(sums);
    if (nan) SumByDefinition(job, strip, block, tap, scratch);
    float* to;
    int64_t pitch;
    bool add = !job.start;
    if (in_place()) {
      pitch = dfilter.channel;
      to = dfilter.data + block.channel * pitch + tap.tap * dfilter.tap + block.filter;
      add = add || job.gradient.accumulate;
    } else {
      pitch = padded_filters();
      to = job.memory.sums + block.split * sums_elements() +
           ((&tap - taps_.data()) * channels_ + block.channel) * pitch + block.filter;
    }
    Tiles::kHardware ? AddBlockInVectors(sums, add, to, pitch)
                     : AddBlockPlainly(sums, add, to, pitch);
    scratch += block.rows * block.columns;
  }
}

template <class Tiles>
void TileFilter<Tiles>::SumByDefinition(const Job& job, const Strip& strip, const Block& block,
                                        const Tap& tap, float* to) const {
  std::fill_n(to, block.rows * block.columns, 0.0f);
  ForEachPlace(
      block.begin * kDepth, (block.end - block.begin) * kDepth,
      [&](int64_t, int64_t image, int64_t row, int64_t column) {
        const Bfloat16* const dy = DyAt(job, strip, image, row, column);
        const Bfloat16* const x = XAt(job, strip, image, row, column, tap.vertical, tap.horizontal);
        if (dy == nullptr || x == nullptr) return;
        for (int64_t c = 0; c < block.channels; ++c) {
          for (int64_t f = 0; f < block.filters; ++f) {
            to[c * block.columns + f] += float(x[block.channel + c]) * float(dy[block.filter + f]);
          }
        }
      });
}

// The sums of dy of 16 filters, over the steps of a split.
template <class Tiles>
void TileFilter<Tiles>::SumBias(const Job& job, int64_t index, int64_t steps) const {
  const int64_t panels = padded_filters() / 16, split = index / panels;
  const int64_t begin = steps * split / splits_, end = steps * (split + 1) / splits_;
  const Bfloat16* const pairs = job.memory.dy + index % panels * panel() + begin * kDepth * 16;
  const int64_t count = (end - begin) * kDepth;
  float* const to = job.memory.bias + split * padded_filters() + index % panels * 16;
  Tiles::kHardware ? AddPairsInVectors(pairs, count, to) : AddPairsPlainly(pairs, count, to);
}

// Those that no image meets, or all.
template <class Tiles>
void TileFilter<Tiles>::ZeroTaps(const Gradient& gradient, bool all) const {
  const Filter<float>& dfilter = gradient.dfilter;
  for (size_t tap = 0; tap < place_.size(); ++tap) {
    if (!all && place_[tap] >= 0) continue;
    for (int64_t c = 0; c < channels_; ++c) {
      std::fill_n(dfilter.data + c * dfilter.channel + int64_t(tap) * dfilter.tap, filters_, 0.0f);
    }
  }
}

template <class Tiles>
void TileFilter<Tiles>::Write(const Gradient& gradient, std::byte* workspace) const {
  const Memory memory = Divide(workspace);
  const int64_t blocks = CeilDiv(channels_, int64_t{16});
  // Blocks of 16 by 16, whose lines are used up in either order.
  const int64_t items = in_place() ? 0 : int64_t(place_.size()) * blocks;
  ParallelFor(0, items, 1 + 512 / filters_, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      for (int64_t f = 0; f < filters_; f += 16) {
        WriteBlock(gradient, memory, item / blocks, item % blocks * 16, f);
      }
    }
  });
  for (int64_t f = 0; gradient.dbias != nullptr && f < filters_; ++f) {
    float sum = gradient.accumulate ? gradient.dbias[f] : 0.0f;
    for (int64_t split = 0; split < splits_; ++split) {
      sum += memory.bias[split * padded_filters() + f];
    }
    gradient.dbias[f] = sum;
  }
}

template <class Tiles>
void TileFilter<Tiles>::WriteBlock(const Gradient& gradient, const Memory& memory, int64_t tap,
                                   int64_t channel, int64_t filter) const {
  const Filter<float>& dfilter = gradient.dfilter;
  const int64_t place = place_[size_t(tap)];
  for (int64_t c = channel; c < std::min(channel + 16, channels_); ++c) {
    float* const to = dfilter.data + tap * dfilter.tap + c * dfilter.channel;
    for (int64_t f = filter; f < std::min(filter + 16, filters_); ++f) {
      float sum = gradient.accumulate ? to[f * dfilter.filter] : 0.0f;
      for (int64_t split = 0; split < splits_ && place >= 0; ++split) {
        sum +=
            memory.sums[split * sums_elements() + (place * channels_ + c) * padded_filters() + f];
      }
      to[f * dfilter.filter] = sum;
    }
  }
}

std::unique_ptr<FilterKernel<Bfloat16>> MakeEmulatedTileFilter(const Conv2dSpec& spec) {
  return std::make_unique<TileFilter<EmulatedTiles>>(spec);
}
std::unique_ptr<FilterKernel<Bfloat16>> MakeTileFilter(const Conv2dSpec& spec) {
#ifdef DTNN_HAS_TILES
  return std::make_unique<TileFilter<HardwareTiles>>(spec);
#else
  return MakeEmulatedTileFilter(spec);
#endif
}

}  // namespace dtnn::conv::amx
