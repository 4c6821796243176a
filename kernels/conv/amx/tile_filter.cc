#include "kernels/conv/amx/tile_filter.h"

#include <algorithm>
#include <type_traits>

#include "kernels/conv/amx/add_sums.h"
#include "kernels/conv/amx/packing.h"
#include "kernels/conv/cache_sets.h"
#include "kernels/scratch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

// Of both copies of a strip: they stay in the second cache while every block is summed over them.
constexpr int64_t kStripBytes = 1 << 20;
// Pixels of a row where rows are no matter.
constexpr int64_t kFlatRow = 512;
constexpr int64_t kDepth = 32;  // pixels of a step
constexpr int64_t kBlockSums = 32 * 32;
// Enough items for the threads of a large machine, if each has this many steps.
constexpr int64_t kItems = 32, kFewestSteps = 8;

template <int kValue>
constexpr std::integral_constant<int, kValue> kInt;

template <class Tiles>
void PackPairs(const Pixels& from, Bfloat16* to) {
  Tiles::kHardware ? PackPairsInVectors(from, to) : PackPairsPlainly(from, to);
}
template <class Tiles>
void Transpose(const Pixels& from, Bfloat16* to, int64_t to_step) {
  Tiles::kHardware ? TransposeInVectors(from, to, to_step) : TransposePlainly(from, to, to_step);
}

}  // namespace

template <class Tiles>
typename TileFilter<Tiles>::Axis TileFilter<Tiles>::Axis::Of(const Phase& phase) {
  Axis axis;
  axis.phase = phase;
  std::vector<Phase::Tap>& taps = axis.phase.taps;
  std::erase_if(taps, [&](const Phase::Tap& tap) {
    return tap.offset >= phase.inputs || (phase.count - 1) * phase.in_step + tap.offset < 0;
  });
  if (taps.empty()) return axis;
  const auto [first, last] = std::ranges::minmax_element(taps, {}, &Phase::Tap::offset);
  axis.low = first->offset;
  axis.span = (last->offset - axis.low) / phase.in_step;
  for (const Phase::Tap& tap : taps) {
    const int64_t residue = (tap.offset - axis.low) % phase.in_step;
    if (std::ranges::find(axis.residues, residue) == axis.residues.end()) {
      axis.residues.push_back(residue);
    }
  }
  if (phase.in_step == 1) {
    const int64_t end = phase.count - 1 + last->offset;  // the last place
    axis.shared = std::clamp<int64_t>(std::min(-axis.low, end - (phase.inputs - 1)), 0, axis.span);
  }
  return axis;
}

template <class Tiles>
TileFilter<Tiles>::TileFilter(const Conv2dSpec& spec)
    : channels_(spec.channels),
      filters_(spec.filters),
      batch_(spec.batch),
      flat_pixels_(spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0)
                       ? spec.height * spec.width
                       : 0),
      vertical_(Axis::Of(VerticalPhases(spec, Direction::kBackwardFilter).front())),
      horizontal_(Axis::Of(HorizontalPhases(spec, Direction::kBackwardFilter).front())),
      rows_(vertical_.phase.count),
      columns_(horizontal_.phase.count),
      threads_(NumThreads()) {
  if (flat_pixels_ > 0) {
    rows_ = CeilDiv(batch_ * flat_pixels_, kFlatRow);
    columns_ = std::min(kFlatRow, batch_ * flat_pixels_);
  }
  pitch_ = RoundUp(columns_ + horizontal_.span - horizontal_.shared, int64_t{2});
  const int64_t row_bytes =
      pitch_ * int64_t(sizeof(Bfloat16)) * (planes() * padded_channels() + padded_filters());
  const int64_t fit = std::max<int64_t>(1, kStripBytes / row_bytes);
  image_rows_ = rows_ + vertical_.span - vertical_.shared;
  strip_rows_ = rows_, strip_images_ = 1;
  if (flat_pixels_ > 0 || image_rows_ > fit) {
    strip_rows_ = CeilDiv(rows_, CeilDiv(rows_, std::min(rows_, fit)));
    image_rows_ = strip_rows_ + vertical_.span;
  } else {
    strip_images_ = CeilDiv(batch_, CeilDiv(batch_, std::min(batch_, fit / image_rows_)));
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
                       .plane = (row_plane - vertical_.residues.begin()) *
                                    int64_t(horizontal_.residues.size()) +
                                (column_plane - horizontal_.residues.begin()),
                       .shift = down / step * pitch_ + right / across});
    }
  }
  place_.assign(size_t(spec.kernel.vertical * spec.kernel.horizontal), -1);
  for (size_t i = 0; i < taps_.size(); ++i) place_[size_t(taps_[i].tap)] = int64_t(i);
  const int64_t used = (strip_images_ - 1) * image_rows_ * pitch_ +
                       (strip_images_ > 1 ? image_rows_ : strip_rows_) * pitch_;
  pixels_ = RoundUp(used, kDepth);
  x_pitch_ = RoundUp(pixels_ + vertical_.span * pitch_ + horizontal_.span + kDepth, kDepth);
  if (ShareSets(x_pitch_ * int64_t(sizeof(Bfloat16)))) x_pitch_ += kLineElements<Bfloat16>;
  if (!taps_.empty()) {
    splits_ = std::clamp<int64_t>(
        std::min(CeilDiv(kItems, blocks()), pixels_ / (kDepth * kFewestSteps)), 1, kItems);
  }
}

template <class Tiles>
typename TileFilter<Tiles>::Memory TileFilter<Tiles>::Divide(std::byte* workspace) const {
  ScratchDivider divider(workspace);
  Memory memory;
  memory.sums = divider.Take<float>(splits_ * sums_elements());
  memory.bias = divider.Take<float>(splits_ * padded_filters());
  memory.x = divider.Take<Bfloat16>(planes() * padded_channels() * x_pitch_);
  memory.dy = divider.Take<Bfloat16>(padded_filters() / 16 * panel());
  memory.steps = divider.Take<Step>(pixels_ / kDepth);
  memory.block = divider.Take<float>(threads_ * kBlockSums);
  memory.bytes = divider.bytes();
  return memory;
}

template <class Tiles>
int64_t TileFilter<Tiles>::RowsOf(int64_t images) const {
  return flat_pixels_ > 0 ? CeilDiv(images * flat_pixels_, columns_) : rows_;
}
template <class Tiles>
int64_t TileFilter<Tiles>::ColumnsOf(int64_t row, int64_t images) const {
  if (flat_pixels_ == 0) return columns_;
  return std::min(columns_, images * flat_pixels_ - row * columns_);
}
// Places of the copy of dy from the first pixel to the last, with the gaps between.
template <class Tiles>
int64_t TileFilter<Tiles>::UsedPixels(const Strip& strip) const {
  return ((strip.images - 1) * image_rows_ + strip.rows) * pitch_;
}

template <class Tiles>
void TileFilter<Tiles>::Sum(const Images<const Bfloat16>& x, const Images<const Bfloat16>& dy,
                            int64_t images, bool first, const Gradient& gradient,
                            std::byte* workspace) const {
  const Job job = {x, dy, images, gradient.dbias != nullptr, Divide(workspace)};
  const Memory& memory = job.memory;
  if (first) {
    std::fill_n(memory.sums, splits_ * sums_elements(), 0.0f);
    std::fill_n(memory.bias, splits_ * padded_filters(), 0.0f);
    // What no strip writes is padding.
    std::fill_n(memory.x, planes() * padded_channels() * x_pitch_, Bfloat16(0));
    std::fill_n(memory.dy, padded_filters() / 16 * panel(), Bfloat16(0));
    for (int64_t k = 0; k < pixels_ / kDepth; ++k) memory.steps[k] = {k * kDepth, k * kDepth * 16};
  }
  if (images == 0) return;
  const int64_t groups = flat_pixels_ > 0 ? 1 : CeilDiv(images, strip_images_);
  const int64_t rows = RowsOf(images);
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t image = group * strip_images_;
    const int64_t count = flat_pixels_ > 0 ? 1 : std::min(strip_images_, images - image);
    for (int64_t row = 0; row < rows; row += strip_rows_) {
      SumStrip(job, {image, count, row, std::min(strip_rows_, rows - row)});
    }
  }
}

template <class Tiles>
void TileFilter<Tiles>::SumStrip(const Job& job, const Strip& strip) const {
  Pack(job, strip);
  const int64_t steps = CeilDiv(UsedPixels(strip), kDepth);
  const int64_t products = splits_ * blocks();
  const int64_t sums_of_dy = job.with_bias ? splits_ * (padded_filters() / 16) : 0;
  ParallelForWithScratch(products + sums_of_dy, 1, threads_,
                         [&](int thread, int64_t begin, int64_t end) {
                           Tiles tiles;
                           tiles.Configure(ProductShapes(int(kDepth)));
                           for (int64_t item = begin; item < end; ++item) {
                             if (item >= products) {
                               SumBias(job, item - products, steps);
                             } else {
                               SumBlock(tiles, job, strip, BlockAt(item, steps),
                                        job.memory.block + thread * kBlockSums);
                             }
                           }
                           tiles.Release();
                         });
}

template <class Tiles>
void TileFilter<Tiles>::Pack(const Job& job, const Strip& strip) const {
  // Rows of the copies: with those that only taps below the last row of results read.
  const bool whole = strip_rows_ == rows_ && flat_pixels_ == 0;
  const int64_t rows = whole ? image_rows_ : strip.rows + vertical_.span;
  const int64_t grain = 1 + 4096 / (pitch_ * (channels_ + filters_));
  ParallelFor(0, strip.images * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) PackRow(job, strip, item / rows, item % rows);
  });
  // Up to the end of the last step, where a strip before may have had more.
  const int64_t last = strip.row + strip.rows - 1;
  const int64_t used =
      UsedPixels(strip) - pitch_ + RoundUp(ColumnsOf(last, job.images), int64_t{2});
  const int64_t end = RoundUp(UsedPixels(strip), kDepth);
  for (int64_t p = 0; p < padded_filters() / 16; ++p) {
    std::fill_n(job.memory.dy + p * panel() + used * 16, (end - used) * 16, Bfloat16(0));
  }
}

// Row `row` of image `image` of the copies.
template <class Tiles>
void TileFilter<Tiles>::PackRow(const Job& job, const Strip& strip, int64_t image,
                                int64_t row) const {
  const int64_t at = (image * image_rows_ + row) * pitch_;
  const int64_t n = strip.image + image, line = strip.row + row;
  if (row < strip.rows) {
    const Bfloat16* const from =
        flat_pixels_ > 0 ? job.dy.data + line * columns_ * job.dy.pixel : job.dy.At(n, line);
    for (int64_t f = 0; f < filters_; f += 16) {
      PackPairs<Tiles>({from + f, job.dy.pixel, ColumnsOf(line, job.images),
                        int(std::min<int64_t>(16, filters_ - f))},
                       job.memory.dy + f / 16 * panel() + at * 16);
    }
  }
  const int64_t places = columns_ + horizontal_.span;
  for (size_t v = 0; v < vertical_.residues.size(); ++v) {
    const int64_t h = vertical_.Input(line, v);
    const bool inside = flat_pixels_ > 0 || (h >= 0 && h < vertical_.phase.inputs);
    for (size_t k = 0; k < horizontal_.residues.size(); ++k) {
      const auto plane = int64_t(v * horizontal_.residues.size() + k);
      Bfloat16* const to = job.memory.x + plane * padded_channels() * x_pitch_ + at;
      const int64_t step = horizontal_.phase.in_step, low = horizontal_.Input(0, k);
      // Of a row, the first place with an input and the one after the last.
      int64_t begin = std::min(places, CeilDiv(std::max<int64_t>(-low, 0), step));
      int64_t end = std::clamp<int64_t>(
          CeilDiv(std::max<int64_t>(horizontal_.phase.inputs - low, 0), step), begin, places);
      if (flat_pixels_ > 0) begin = 0, end = ColumnsOf(line, job.images);
      for (int64_t c = 0; c < channels_; c += 16) {
        const auto channels = int(std::min<int64_t>(16, channels_ - c));
        if (!inside) {
          // Rows of a strip may be inputs in another one.
          for (int i = 0; i < channels && strip_rows_ < rows_; ++i) {
            std::fill_n(to + (c + i) * x_pitch_ + begin, end - begin, Bfloat16(0));
          }
          continue;
        }
        const Bfloat16* const from =
            (flat_pixels_ > 0 ? job.x.data + line * columns_ * job.x.pixel : job.x.At(n, h)) +
            (low + begin * step) * job.x.pixel + c;
        Transpose<Tiles>({from, step * job.x.pixel, end - begin, channels},
                         to + c * x_pitch_ + begin, x_pitch_);
      }
    }
  }
}

// Taps are innermost: they read the same parts of both copies.
template <class Tiles>
typename TileFilter<Tiles>::Block TileFilter<Tiles>::BlockAt(int64_t index, int64_t steps) const {
  const auto taps = int64_t(taps_.size());
  const int64_t channel_pairs = CeilDiv(channels_, int64_t{32});
  const int64_t filter_pairs = CeilDiv(filters_, int64_t{32});
  const int64_t tap = index % taps;
  index /= taps;
  const int64_t channel = index % channel_pairs * 32;
  index /= channel_pairs;
  const int64_t filter = index % filter_pairs * 32, split = index / filter_pairs;
  return {.tap = &taps_[size_t(tap)],
          .sums = split * sums_elements() + (tap * padded_channels() + channel) * padded_filters() +
                  filter,
          .channel = channel,
          .channels = std::min<int64_t>(32, padded_channels() - channel),
          .filter = filter,
          .filters = std::min<int64_t>(32, padded_filters() - filter),
          .begin = steps * split / splits_,
          .end = steps * (split + 1) / splits_};
}

template <class Tiles>
void TileFilter<Tiles>::SumBlock(Tiles& tiles, const Job& job, const Strip& strip,
                                 const Block& block, float* scratch) const {
  if (block.begin == block.end) return;
  const Memory& memory = job.memory;
  const Bfloat16* const a = memory.x +
                            (block.tap->plane * padded_channels() + block.channel) * x_pitch_ +
                            block.tap->shift;
  const Bfloat16* const b = memory.dy + block.filter / 16 * panel();
  const auto multiply = [&](auto height, auto width) {
    MultiplyBlock<height, width>(tiles, a, x_pitch_ * int64_t(sizeof(Bfloat16)), b, panel(),
                                 memory.steps + block.begin, block.end - block.begin, scratch);
  };
  if (block.channels > 16) {
    block.filters > 16 ? multiply(kInt<2>, kInt<2>) : multiply(kInt<2>, kInt<1>);
  } else {
    block.filters > 16 ? multiply(kInt<1>, kInt<2>) : multiply(kInt<1>, kInt<1>);
  }
  const BlockSums sums = {scratch, block.channels, block.filters};
  const bool nan = Tiles::kHardware ? HasNaNInVectors(sums) : HasNaNPlainly(sums);
  if (nan) SumByDefinition(job, strip, block, scratch);
  float* const to = memory.sums + block.sums;
  Tiles::kHardware ? AddBlockInVectors(sums, to, padded_filters())
                   : AddBlockPlainly(sums, to, padded_filters());
}

template <class Tiles>
void TileFilter<Tiles>::SumByDefinition(const Job& job, const Strip& strip, const Block& block,
                                        float* to) const {
  std::fill_n(to, block.channels * block.filters, 0.0f);
  const int64_t channels = std::min(block.channels, channels_ - block.channel);
  const int64_t filters = std::min(block.filters, filters_ - block.filter);
  for (int64_t q = block.begin * kDepth; q < block.end * kDepth; ++q) {
    const int64_t image = q / (image_rows_ * pitch_), row = q / pitch_ % image_rows_;
    const int64_t line = strip.row + row, column = q % pitch_;
    if (image >= strip.images || row >= strip.rows || column >= ColumnsOf(line, job.images)) {
      continue;
    }
    const Bfloat16 *x, *dy;
    if (flat_pixels_ > 0) {
      x = job.x.data + (line * columns_ + column) * job.x.pixel;
      dy = job.dy.data + (line * columns_ + column) * job.dy.pixel;
    } else {
      const int64_t h = line * vertical_.phase.in_step + block.tap->vertical;
      const int64_t w = column * horizontal_.phase.in_step + block.tap->horizontal;
      if (h < 0 || h >= vertical_.phase.inputs || w < 0 || w >= horizontal_.phase.inputs) continue;
      x = job.x.At(strip.image + image, h) + w * job.x.pixel;
      dy = job.dy.At(strip.image + image, line) + column * job.dy.pixel;
    }
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t f = 0; f < filters; ++f) {
        to[c * block.filters + f] += float(x[block.channel + c]) * float(dy[block.filter + f]);
      }
    }
  }
}

// Of 16 filters, over the steps of a split.
template <class Tiles>
void TileFilter<Tiles>::SumBias(const Job& job, int64_t index, int64_t steps) const {
  const int64_t panels = padded_filters() / 16, split = index / panels, p = index % panels;
  const int64_t begin = steps * split / splits_, end = steps * (split + 1) / splits_;
  const Bfloat16* const pairs = job.memory.dy + p * panel() + begin * kDepth * 16;
  float* const sums = job.memory.bias + split * padded_filters() + p * 16;
  Tiles::kHardware ? AddPairsInVectors(pairs, (end - begin) * kDepth / 2, sums)
                   : AddPairsPlainly(pairs, (end - begin) * kDepth / 2, sums);
}

template <class Tiles>
void TileFilter<Tiles>::Write(const Gradient& gradient, std::byte* workspace) const {
  const Memory memory = Divide(workspace);
  const Filter<float>& dfilter = gradient.dfilter;
  ParallelFor(
      0, int64_t(place_.size()) * channels_, 1 + 8192 / filters_, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
          const int64_t tap = item / channels_, c = item % channels_, at = place_[size_t(tap)];
          float* const to = dfilter.data + tap * dfilter.tap + c * dfilter.channel;
          for (int64_t f = 0; f < filters_; ++f) {
            float& out = to[f * dfilter.filter];
            float sum = gradient.accumulate ? out : 0.0f;
            for (int64_t split = 0; split < splits_ && at >= 0; ++split) {
              sum += memory.sums[split * sums_elements() +
                                 (at * padded_channels() + c) * padded_filters() + f];
            }
            out = sum;
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
