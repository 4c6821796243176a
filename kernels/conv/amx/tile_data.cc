#include "kernels/conv/amx/tile_data.h"

#include <algorithm>
#include <type_traits>

#include "kernels/amx/write_back.h"
#include "kernels/conv/amx/copy_inputs.h"
#include "kernels/workspace/scratch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

constexpr int64_t kSumsOfBlock = 4 * 256;

// A number as a type.
template <int kValue>
constexpr std::integral_constant<int, kValue> kInt;

}  // namespace

// Writes the sums of a block, each after the next product is under way.
template <class Tiles>
class TileData<Tiles>::Writer {
 public:
  Writer(const TilePlan& plan, const Call& call, const Block& block, const Scratch& scratch)
      : plan_(plan),
        call_(call),
        block_(block),
        layout_(plan.LayoutOf(block)),
        sums_{scratch.sums[0], scratch.sums[1]} {}

  const Part* part() const { return block_.part; }
  // Where the next sums go, of `rows` rows from `first` on and the output channels of `panels` from
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
    if (plan_.pointwise()) {
      return WriteRows(p, p.first, p.count, block_.image, 0, block_.column + p.first,
                       call_.out.pixel, call_.write_back.addend.pixel);
    }
    if (plan_.group_images() > 1) {
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
    const int64_t out_channel = p.panel * 16;
    const WriteBack<Bfloat16>& write_back = call_.write_back;
    tile::RowsOfResults rows;
    rows.sums_pitch = 16 * p.panels;
    rows.sums = p.sums + (first - p.first) * rows.sums_pitch;
    rows.rows = count;
    rows.channels = int(std::min<int64_t>(16 * p.panels, plan_.out_channels() - out_channel));
    if (write_back.scale != nullptr) rows.scale = write_back.scale + out_channel;
    if (write_back.bias != nullptr) rows.bias = write_back.bias + out_channel;
    if (write_back.addend.data != nullptr) {
      rows.addend = write_back.addend.At(image, h) + w * write_back.addend.pixel + out_channel;
      rows.addend_pitch = addend_pitch;
    }
    rows.relu = write_back.relu;
    rows.out = call_.out.At(image, h) + w * call_.out.pixel + out_channel;
    rows.out_pitch = out_pitch;
    if constexpr (Tiles::kHardware) {
      tile::WriteBackInVectors(rows);
    } else {
      tile::WriteBackPlainly(rows);
    }
  }

  const TilePlan& plan_;
  const Call& call_;
  const Block& block_;
  const Layout layout_;
  float* const sums_[2];
  int next_ = 0;
  Pending pending_;
};

template <class Tiles>
typename TileData<Tiles>::Scratch TileData<Tiles>::Divide(std::byte* memory) const {
  int64_t copy = 0, steps = 0;
  for (const Part& part : plan_.parts()) {
    copy = std::max(copy, plan_.CopyElements(plan_.Largest(part)));
    steps = std::max(steps, part.steps());
  }
  ScratchDivider divider(memory);
  Scratch scratch;
  scratch.copy = divider.Take<Bfloat16>(copy);
  scratch.tail = divider.Take<Bfloat16>(plan_.pointwise() ? kTileRows * plan_.depth() : 0);
  scratch.steps = divider.Take<tile::Step>(steps);
  for (float*& sums : scratch.sums) sums = divider.Take<float>(kSumsOfBlock);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <class Tiles>
void TileData<Tiles>::Run(const Call& call) const {
  untapped_.Write<Bfloat16>(call, plan_.out_channels());
  const int threads = std::min(plan_.threads(), NumThreads());
  const int64_t groups = plan_.pointwise() ? 1 : CeilDiv(call.images, plan_.group_images());
  const int64_t items = groups * plan_.blocks();
  // Few blocks, or few pixels for a large filter: divide the panels among threads too.
  const int64_t least = items >= 2 * threads ? 1 : CeilDiv(2 * threads, items);
  const int64_t shares = std::min<int64_t>(
      plan_.pairs(), plan_.large_filter() ? std::max<int64_t>(least, threads) : least);
  ParallelForWithScratch(items * shares, 1, threads, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(call.workspace + size_t(thread) * thread_bytes());
    Tiles tiles;
    int64_t configured = 0;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t share = item / items;
      const Block block = plan_.BlockAt(item % items, call.images);
      if (block.rows() <= 0 || block.columns() <= 0) continue;
      if (configured != block.part->depth.step) {
        configured = block.part->depth.step;
        tiles.Configure(ProductShapes(int(configured)));
      }
      RunBlock(tiles, call, block, plan_.pairs() * share / shares,
               plan_.pairs() * (share + 1) / shares, mine);
    }
    tiles.Release();
  });
}

// The steps of all results of a block that was copied.
template <class Tiles>
int64_t TileData<Tiles>::ListSteps(const Block& block, tile::Step* steps) const {
  const Part& part = *block.part;
  const Depth& depth = part.depth;
  const Layout layout = plan_.pointwise() ? Layout{} : plan_.LayoutOf(block);
  int64_t count = 0;
  for (const TilePlan::TapRun& run : part.runs) {
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
                                     tile::Step* steps) const {
  const Phase &vertical = *part.vertical, &horizontal = *part.horizontal;
  const int64_t together = RoundUp(plan_.group_images(), int64_t{kTileRows});
  int64_t count = 0, at = 0;
  for (const TilePlan::TapRun& run : part.runs) {
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
  const bool across = plan_.group_images() > 1;
  CopyInputs(plan_, block, call.in, scratch.copy);
  Writer writer(plan_, call, block, scratch);
  Rows rows, tail;
  rows.a = scratch.copy;
  rows.pitch = part.pitch * int64_t(sizeof(Bfloat16));
  rows.steps = scratch.steps;
  if (across) {
    rows.count = block.images;
  } else {
    rows.step_count = ListSteps(block, scratch.steps);
    const Layout layout = plan_.LayoutOf(block);
    rows.pitch *= part.column_step;
    rows.count = (block.rows() - 1) * layout.tile_pitch + block.columns();
  }
  if (plan_.pointwise()) {
    // Where they are, but for the last ones: a tile would read beyond the images.
    rows.a = call.in.data + block.column * call.in.pixel;
    rows.pitch = call.in.pixel * int64_t(sizeof(Bfloat16));
    tail = rows;
    rows.count = rows.count / kTileRows * kTileRows;
    tail.first = rows.count, tail.count -= rows.count;
    for (int64_t i = 0; i < tail.count; ++i) {
      std::copy_n(rows.a + (rows.count + i) * call.in.pixel, plan_.depth(),
                  scratch.tail + i * plan_.depth());
    }
    tail.a = scratch.tail;
    tail.pitch = plan_.depth() * int64_t(sizeof(Bfloat16));
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
  const int columns = panel + 1 < plan_.panels() ? 2 : 1;
  const int64_t most = columns == 2 ? 2 : 4;  // tiles of rows
  for (int64_t first = 0; first < rows.count; first += most * kTileRows) {
    const int64_t count = std::min(rows.count - first, most * kTileRows);
    const Bfloat16* const a = rows.a + first * (rows.pitch / int64_t(sizeof(Bfloat16)));
    const auto multiply = [&](auto height, auto width) {
      tile::MultiplyBlock<height, width>(tiles, a, rows.pitch, b, pitch, rows.steps,
                                         rows.step_count, count, writer.sums());
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

template class TileData<EmulatedTiles>;
template class TileData<EmulatedDots>;
template class TileData<HardwareDots>;
#ifdef DTNN_HAS_TILES
template class TileData<HardwareTiles>;
#endif

}  // namespace dtnn::conv::amx
