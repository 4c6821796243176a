#include "kernels/conv/amx/tile_data.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/conv/amx/write_back.h"
#include "kernels/scratch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

// Of the inputs of a block: they share the second cache with a pair of panels of the filter.
constexpr int64_t kBlockBytes = 512 << 10;
// Of inputs and outputs of a block of a flat product.
constexpr int64_t kFlatBytes = 512 << 10;
// Maps up to this width are computed across images, this many at a time, where there are enough.
constexpr int64_t kSmallWidth = 8;
constexpr int64_t kImagesTogether = 32;
constexpr int64_t kFewestImages = 12;
// In a cache whose ways have 4 KB, lines 4 KB apart fall into the same set.
constexpr int64_t kConflictBytes = 2048;
constexpr int64_t kLineElements = 32;
constexpr int64_t kSumsOfBlock = 4 * 256;

// A number as a type.
template <int kValue>
constexpr std::integral_constant<int, kValue> kInt;

// Those of a phase that meet the images, by offset: what is multiplied by padding alone is nothing.
std::vector<Phase::Tap> TapsInside(const Phase& phase) {
  std::vector<Phase::Tap> taps;
  for (const Phase::Tap& tap : phase.taps) {
    if (tap.offset < phase.inputs && (phase.count - 1) * phase.in_step + tap.offset >= 0) {
      taps.push_back(tap);
    }
  }
  std::ranges::sort(taps, {}, &Phase::Tap::offset);
  return taps;
}

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

// Writes the sums of a block, each after the next product is under way.
template <class Tiles>
class TileData<Tiles>::Writer {
 public:
  Writer(const TileData& kernel, const Call& call, const Block& block, const Scratch& scratch)
      : kernel_(kernel),
        call_(call),
        block_(block),
        layout_(kernel.LayoutOf(block)),
        sums_{scratch.sums[0], scratch.sums[1]} {}

  const Part* part() const { return block_.part; }
  // Where the next sums go, of `rows` rows from `first` on and the columns of `panels` from
  // `panel`.
  float* sums() const { return sums_[next_]; }
  void Add(const Rows& rows, int64_t first, int64_t count, int64_t panel, int panels) {
    const Pending last = pending_;
    pending_ = {sums_[next_], rows.first + first, count, rows.row, rows.column, panel, panels};
    next_ = 1 - next_;
    Write(last);
  }
  void Finish() {
    Write(pending_);
    pending_ = {};
  }

 private:
  struct Pending {
    const float* sums = nullptr;
    int64_t first = 0, count = 0;
    int64_t row = 0, column = 0;
    int64_t panel = 0;
    int panels = 0;
  };

  void Write(const Pending& p) const {
    if (p.count == 0) return;
    const Phase &vertical = *block_.part->vertical, &horizontal = *block_.part->horizontal;
    if (kernel_.flat_) {
      return WriteRows(p, p.first, p.count, block_.image, 0, block_.column + p.first,
                       call_.out.pixel, call_.write_back.addend.pixel);
    }
    if (kernel_.group_images_ > 1) {
      return WriteRows(p, p.first, p.count, block_.image + p.first,
                       vertical.first + p.row * vertical.step,
                       horizontal.first + p.column * horizontal.step, call_.out.image,
                       call_.write_back.addend.image);
    }
    // Without the results between the rows.
    int64_t at = p.first;
    const int64_t end = p.first + p.count;
    while (at < end) {
      const int64_t row = at / layout_.tile_pitch, column = at % layout_.tile_pitch;
      if (row >= block_.rows()) return;
      const int64_t count = std::min(end - at, block_.columns() - column);
      if (count > 0) {
        WriteRows(p, at, count, block_.image, vertical.first + (block_.row + row) * vertical.step,
                  horizontal.first + (block_.column + column) * horizontal.step,
                  horizontal.step * call_.out.pixel,
                  horizontal.step * call_.write_back.addend.pixel);
      }
      at += std::max(count, layout_.tile_pitch - column);
      if (count > 0 && column + count < block_.columns()) return;  // the end of these rows
    }
  }

  // `count` rows of the block from `first` on, whose first result is at (image, h, w).
  void WriteRows(const Pending& p, int64_t first, int64_t count, int64_t image, int64_t h,
                 int64_t w, int64_t out_pitch, int64_t addend_pitch) const {
    const int64_t column = p.panel * 16;
    const WriteBack<Bfloat16>& write_back = call_.write_back;
    RowsOfResults rows;
    rows.sums_pitch = 16 * p.panels;
    rows.sums = p.sums + (first - p.first) * rows.sums_pitch;
    rows.rows = count;
    rows.columns = int(std::min<int64_t>(16 * p.panels, kernel_.columns_ - column));
    if (write_back.scale != nullptr) rows.scale = write_back.scale + column;
    if (write_back.bias != nullptr) rows.bias = write_back.bias + column;
    if (write_back.addend.data != nullptr) {
      rows.addend = write_back.addend.At(image, h) + w * write_back.addend.pixel + column;
      rows.addend_pitch = addend_pitch;
    }
    rows.relu = write_back.relu;
    rows.out = call_.out.At(image, h) + w * call_.out.pixel + column;
    rows.out_pitch = out_pitch;
    if constexpr (Tiles::kHardware) {
      WriteBackInVectors(rows);
    } else {
      WriteBackPlainly(rows);
    }
  }

  const TileData& kernel_;
  const Call& call_;
  const Block& block_;
  const Layout layout_;
  float* const sums_[2];
  int next_ = 0;
  Pending pending_;
};

template <class Tiles>
TileData<Tiles>::TileData(const Conv2dSpec& spec, Direction direction)
    : backward_(direction == Direction::kBackwardData),
      kernel_width_(spec.kernel.horizontal),
      depth_(backward_ ? spec.filters : spec.channels),
      columns_(backward_ ? spec.channels : spec.filters),
      batch_(spec.batch),
      vertical_(VerticalPhases(spec, direction)),
      horizontal_(HorizontalPhases(spec, direction)),
      flat_(spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0) &&
            Depth::Of(depth_, 1).channels == depth_),
      group_images_(flat_ ? 1 : GroupImages(spec, vertical_.front(), horizontal_.front())),
      large_filter_(spec.kernel.vertical * spec.kernel.horizontal * columns_ >
                    spec.batch * vertical_.front().inputs * horizontal_.front().inputs),
      threads_(NumThreads()),
      untapped_(spec, direction) {
  if (flat_) {
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

template <class Tiles>
typename TileData<Tiles>::Part TileData<Tiles>::MakePart(const Phase& vertical,
                                                         const Phase& horizontal) const {
  Part part;
  part.vertical = &vertical, part.horizontal = &horizontal;
  const std::vector<Phase::Tap> rows = TapsInside(vertical), columns = TapsInside(horizontal);
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
  if (part.run_taps == 1 && step_bytes % kConflictBytes == 0) part.pitch += kLineElements;
  Cut(part);
  return part;
}

template <class Tiles>
void TileData<Tiles>::Cut(Part& part) const {
  const Phase &vertical = *part.vertical, &horizontal = *part.horizontal;
  part.rows = vertical.count, part.columns = horizontal.count;
  if (group_images_ > 1) return;
  if (flat_) {
    // Blocks of equal size, as many for each thread.
    constexpr int64_t kRows = 32;
    const int64_t fit = kFlatBytes / ((depth_ + columns_) * int64_t(sizeof(Bfloat16)));
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

template <class Tiles>
typename TileData<Tiles>::Block TileData<Tiles>::Largest(const Part& part) const {
  return {&part, 0, group_images_, 0, part.rows, 0, part.columns};
}

template <class Tiles>
typename TileData<Tiles>::Layout TileData<Tiles>::LayoutOf(const Block& block) const {
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

template <class Tiles>
int64_t TileData<Tiles>::CopyElements(const Block& block) const {
  const Part& part = *block.part;
  if (flat_ || part.runs.empty()) return 0;
  if (group_images_ > 1) {
    return part.vertical->inputs * part.horizontal->inputs *
           RoundUp(group_images_, int64_t{kTileRows}) * part.pitch;
  }
  return LayoutOf(block).pixels * part.pitch;
}

template <class Tiles>
typename TileData<Tiles>::Scratch TileData<Tiles>::Divide(std::byte* memory) const {
  int64_t copy = 0, steps = 0;
  for (const Part& part : parts_) {
    copy = std::max(copy, CopyElements(Largest(part)));
    steps = std::max(steps, part.steps());
  }
  ScratchDivider divider(memory);
  Scratch scratch;
  scratch.copy = divider.Take<Bfloat16>(copy);
  scratch.tail = divider.Take<Bfloat16>(flat_ ? kTileRows * depth_ : 0);
  scratch.steps = divider.Take<Step>(steps);
  for (float*& sums : scratch.sums) sums = divider.Take<float>(kSumsOfBlock);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <class Tiles>
void TileData<Tiles>::DeriveFilter(const Filter<const Bfloat16>& filter, Bfloat16* derived) const {
  const int64_t depth_step = backward_ ? filter.filter : filter.channel;
  const int64_t column_step = backward_ ? filter.channel : filter.filter;
  for (const Part& part : parts_) {
    const Depth& depth = part.depth;
    const auto runs = int64_t(part.runs.size());
    const int64_t run_elements = depth.steps * depth.step * 16;
    ParallelFor(0, panels() * runs, 1 + 8192 / run_elements, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t panel = item / runs, columns = std::min<int64_t>(16, columns_ - panel * 16);
        const TapRun& run = part.runs[size_t(item % runs)];
        Bfloat16* to = derived + part.derived + item * run_elements;
        // Rows of pairs: an element of the depth and the next one, of each column.
        for (int64_t k = 0; k < depth.steps * depth.step; k += 2, to += 32) {
          const int64_t tap = run.tap + k / depth.channels * part.tap_step;
          const int64_t channel = k % depth.channels;  // even, as the channels are
          const Bfloat16* const from =
              filter.data + tap * filter.tap + channel * depth_step + panel * 16 * column_step;
          const int64_t there = std::min<int64_t>(depth_ - channel, 2);
          if (there == 2 && columns == 16 && column_step == 1) {
            for (int64_t j = 0; j < 16; ++j) {
              to[2 * j] = from[j];
              to[2 * j + 1] = from[depth_step + j];
            }
          } else if (there == 2 && columns == 16 && depth_step == 1) {
            for (int64_t j = 0; j < 16; ++j) {
              std::memcpy(to + 2 * j, from + j * column_step, 2 * sizeof(Bfloat16));
            }
          } else {
            for (int64_t j = 0; j < 16; ++j) {
              for (int64_t e = 0; e < 2; ++e) {
                to[2 * j + e] =
                    j < columns && e < there ? from[j * column_step + e * depth_step] : Bfloat16(0);
              }
            }
          }
        }
      }
    });
  }
}

template <class Tiles>
void TileData<Tiles>::Run(const Call& call) const {
  untapped_.Write<Bfloat16>(call, columns_);
  const int threads = std::min(threads_, NumThreads());
  const int64_t groups = flat_ ? 1 : CeilDiv(call.images, group_images_);
  int64_t blocks = 0;  // of one group
  for (const Part& part : parts_) blocks += part.blocks();
  const int64_t items = groups * blocks;
  // Few blocks, or few pixels for a large filter: divide the panels among threads too.
  const int64_t least = items >= 2 * threads ? 1 : CeilDiv(2 * threads, items);
  const int64_t shares =
      std::min<int64_t>(pairs(), large_filter_ ? std::max<int64_t>(least, threads) : least);
  ParallelForWithScratch(items * shares, 1, threads, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(call.workspace + size_t(thread) * thread_bytes());
    Tiles tiles;
    int64_t configured = 0;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t share = item / items;
      const Block block = BlockAt(item % items, call.images);
      if (block.rows() <= 0 || block.columns() <= 0) continue;
      if (configured != block.part->depth.step) {
        configured = block.part->depth.step;
        tiles.Configure(ProductShapes(int(configured)));
      }
      RunBlock(tiles, call, block, pairs() * share / shares, pairs() * (share + 1) / shares, mine);
    }
    tiles.Release();
  });
}

// Block `index` of all blocks of a call with `images` images; it may have no results.
template <class Tiles>
typename TileData<Tiles>::Block TileData<Tiles>::BlockAt(int64_t index, int64_t images) const {
  int64_t blocks = 0;
  for (const Part& part : parts_) blocks += part.blocks();
  const int64_t group = index / blocks;
  int64_t at = index % blocks;
  const Part* part = parts_.data();
  while (at >= part->blocks()) at -= part++->blocks();
  const Phase &vertical = *part->vertical, &horizontal = *part->horizontal;
  // A call may bring fewer images than the one row was made for.
  const int64_t width = flat_ ? horizontal.count / batch_ * images : horizontal.count;
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

// `count` pixels, `step` elements apart, to every `to_step` elements, with zeros up to the channels
// of the copy.
template <class Tiles>
void TileData<Tiles>::CopyPixels(const Part& part, const Bfloat16* from, int64_t step,
                                 int64_t count, Bfloat16* to, int64_t to_step) const {
  const int64_t zeros = part.depth.channels - depth_;
  if (zeros == 0 && step == depth_ && to_step == depth_) {
    std::copy_n(from, count * depth_, to);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(from + i * step, depth_, to + i * to_step);
    std::fill_n(to + i * to_step + depth_, zeros, Bfloat16(0));
  }
}

template <class Tiles>
void TileData<Tiles>::Copy(const Block& block, const Images<const Bfloat16>& in,
                           Bfloat16* copy) const {
  const Part& part = *block.part;
  const Phase &vertical = *part.vertical, &horizontal = *part.horizontal;
  const Layout layout = LayoutOf(block);
  const int64_t rows = layout.plane / layout.pitch;
  // With one tap, only the inputs that it reads.
  const int64_t step = part.column_span == 0 ? horizontal.in_step : 1;
  const int64_t first = block.column * horizontal.in_step + part.low_column;
  // Pixels of a row of the copy before, and up to the end of, those inside of the image.
  const int64_t before =
      std::clamp<int64_t>(CeilDiv(std::max<int64_t>(-first, 0), step), 0, layout.reach);
  const int64_t end = std::clamp<int64_t>(
      CeilDiv(std::max<int64_t>(horizontal.inputs - first, 0), step), before, layout.reach);
  for (int64_t plane = 0; plane < part.planes; ++plane) {
    for (int64_t i = 0; i < rows; ++i) {
      Bfloat16* const to = copy + (plane * layout.plane + i * layout.pitch) * part.pitch;
      const int64_t h = (block.row + i) * vertical.in_step + part.low_row + plane;
      const bool inside = h >= 0 && h < vertical.inputs && end > before;
      const int64_t zeros = inside ? before : layout.reach;
      std::fill_n(to, zeros * part.pitch, Bfloat16(0));
      if (!inside) continue;
      CopyPixels(part, in.At(block.image, h) + (first + before * step) * in.pixel, step * in.pixel,
                 end - before, to + before * part.pitch, part.pitch);
      std::fill_n(to + end * part.pitch, (layout.reach - end) * part.pitch, Bfloat16(0));
    }
  }
}

// In the order [pixel][image], so that a tile's rows lie side by side.
template <class Tiles>
void TileData<Tiles>::CopyAcrossImages(const Block& block, const Images<const Bfloat16>& in,
                                       Bfloat16* copy) const {
  const Part& part = *block.part;
  const int64_t width = part.horizontal->inputs;
  const int64_t together = RoundUp(group_images_, int64_t{kTileRows});
  for (int64_t n = 0; n < block.images; ++n) {
    for (int64_t h = 0; h < part.vertical->inputs; ++h) {
      CopyPixels(part, in.At(block.image + n, h), in.pixel, width,
                 copy + (h * width * together + n) * part.pitch, together * part.pitch);
    }
  }
}

// The steps of all results of a block that was copied.
template <class Tiles>
int64_t TileData<Tiles>::ListSteps(const Block& block, Step* steps) const {
  const Part& part = *block.part;
  const Depth& depth = part.depth;
  const Layout layout = flat_ ? Layout{} : LayoutOf(block);
  int64_t count = 0;
  for (const TapRun& run : part.runs) {
    const int64_t row = run.vertical - part.low_row, in_step = part.vertical->in_step;
    const int64_t pixel = row % in_step * layout.plane + row / in_step * layout.pitch +
                          run.horizontal - part.low_column;
    for (int64_t k = 0; k < depth.steps; ++k, ++count) {
      steps[count] = {pixel * part.pitch + k * depth.step, count * depth.step * 16};
    }
  }
  return count;
}

// Those of one result, across images: without taps in the padding.
template <class Tiles>
int64_t TileData<Tiles>::ListStepsAt(const Part& part, int64_t row, int64_t column,
                                     Step* steps) const {
  const Phase &vertical = *part.vertical, &horizontal = *part.horizontal;
  const int64_t together = RoundUp(group_images_, int64_t{kTileRows});
  int64_t count = 0, at = 0;
  for (const TapRun& run : part.runs) {
    const int64_t h = row * vertical.in_step + run.vertical;
    const int64_t w = column * horizontal.in_step + run.horizontal;
    const bool inside = h >= 0 && h < vertical.inputs && w >= 0 && w < horizontal.inputs;
    for (int64_t k = 0; k < part.depth.steps; ++k, ++at) {
      if (!inside) continue;
      steps[count++] = {(h * horizontal.inputs + w) * together * part.pitch + k * part.depth.step,
                        at * part.depth.step * 16};
    }
  }
  return count;
}

template <class Tiles>
void TileData<Tiles>::RunBlock(Tiles& tiles, const Call& call, const Block& block,
                               int64_t first_pair, int64_t last_pair,
                               const Scratch& scratch) const {
  const Part& part = *block.part;
  const Bfloat16* const filter = call.filter + part.derived;
  const bool across = group_images_ > 1;
  if (!flat_ && !part.runs.empty()) {
    if (across) {
      CopyAcrossImages(block, call.in, scratch.copy);
    } else {
      Copy(block, call.in, scratch.copy);
    }
  }
  Writer writer(*this, call, block, scratch);
  Rows rows, tail;
  rows.a = scratch.copy;
  rows.pitch = part.pitch * int64_t(sizeof(Bfloat16));
  rows.steps = scratch.steps;
  if (across) {
    rows.count = block.images;
  } else {
    rows.step_count = ListSteps(block, scratch.steps);
    const Layout layout = LayoutOf(block);
    rows.pitch *= part.column_step;
    rows.count = (block.rows() - 1) * layout.tile_pitch + block.columns();
  }
  if (flat_) {
    // Where they are, but for the last ones: a tile would read beyond the images.
    rows.a = call.in.data + block.column * call.in.pixel;
    rows.pitch = call.in.pixel * int64_t(sizeof(Bfloat16));
    tail = rows;
    rows.count = rows.count / kTileRows * kTileRows;
    tail.first = rows.count, tail.count -= rows.count;
    for (int64_t i = 0; i < tail.count; ++i) {
      std::copy_n(rows.a + (rows.count + i) * call.in.pixel, depth_, scratch.tail + i * depth_);
    }
    tail.a = scratch.tail;
    tail.pitch = depth_ * int64_t(sizeof(Bfloat16));
  }
  for (int64_t pair = first_pair; pair < last_pair; ++pair) {
    if (!across) {
      Multiply(tiles, rows, filter, 2 * pair, writer);
      Multiply(tiles, tail, filter, 2 * pair, writer);
      continue;
    }
    for (rows.row = 0; rows.row < part.vertical->count; ++rows.row) {
      for (rows.column = 0; rows.column < part.horizontal->count; ++rows.column) {
        rows.step_count = ListStepsAt(part, rows.row, rows.column, scratch.steps);
        Multiply(tiles, rows, filter, 2 * pair, writer);
      }
    }
  }
  writer.Finish();
}

// All `rows` times `panel` and the next one, where there is one.
template <class Tiles>
void TileData<Tiles>::Multiply(Tiles& tiles, const Rows& rows, const Bfloat16* filter,
                               int64_t panel, Writer& writer) const {
  const Part& part = *writer.part();
  const int64_t pitch = part.panel();
  const Bfloat16* const b = filter + panel * pitch;
  const int columns = panel + 1 < panels() ? 2 : 1;
  const int64_t most = columns == 2 ? 2 : 4;  // tiles of rows
  for (int64_t first = 0; first < rows.count; first += most * kTileRows) {
    const int64_t count = std::min(rows.count - first, most * kTileRows);
    const Bfloat16* const a = rows.a + first * (rows.pitch / int64_t(sizeof(Bfloat16)));
    const auto multiply = [&](auto height, auto width) {
      MultiplyBlock<height, width>(tiles, a, rows.pitch, b, pitch, rows.steps, rows.step_count,
                                   writer.sums());
    };
    switch (CeilDiv(count, int64_t{kTileRows}) * 2 + columns) {
      case 3:
        multiply(kInt<1>, kInt<1>);
        break;
      case 4:
        multiply(kInt<1>, kInt<2>);
        break;
      case 5:
        multiply(kInt<2>, kInt<1>);
        break;
      case 6:
        multiply(kInt<2>, kInt<2>);
        break;
      case 7:
        multiply(kInt<3>, kInt<1>);
        break;
      default:
        multiply(kInt<4>, kInt<1>);
        break;
    }
    writer.Add(rows, first, count, panel, columns);
  }
}

std::unique_ptr<DataKernel<Bfloat16>> MakeEmulatedTileData(const Conv2dSpec& spec,
                                                           Direction direction) {
  return std::make_unique<TileData<EmulatedTiles>>(spec, direction);
}

std::unique_ptr<DataKernel<Bfloat16>> MakeTileData(const Conv2dSpec& spec, Direction direction) {
#ifdef DTNN_HAS_TILES
  return std::make_unique<TileData<HardwareTiles>>(spec, direction);
#else
  return MakeEmulatedTileData(spec, direction);
#endif
}

}  // namespace dtnn::conv::amx
