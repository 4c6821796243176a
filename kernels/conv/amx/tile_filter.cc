#include "kernels/conv/amx/tile_filter.h"

#include <algorithm>
#include <type_traits>

#include "kernels/conv/amx/add_sums.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

constexpr int64_t kChunk = 10;  // steps

}  // namespace

template <class Tiles>
void TileFilter<Tiles>::Sum(const Images<const Bfloat16>& x, const Images<const Bfloat16>& dy,
                            int64_t images, bool first, const Gradient& gradient,
                            std::byte* workspace) const {
  const Memory memory = plan_.Divide(workspace);
  Job job = {FilterCopies(plan_, memory, x, dy, images, Tiles::kHardware), gradient, memory, first};
  if (first) {
    if (plan_.in_place()) {
      if (!gradient.accumulate) ZeroTaps(gradient, images == 0);
    } else if (images == 0) {
      std::fill_n(memory.sums, plan_.splits * plan_.sums_elements(), 0.0f);
    }
    std::fill_n(memory.bias, plan_.splits * plan_.padded_filters(), 0.0f);
    std::fill_n(memory.zeros, std::max(plan_.channels, plan_.filters), Bfloat16(0));
    for (int64_t k = 0; plan_.together == 1 && k < plan_.pixels / FilterPlan::kDepth; ++k) {
      memory.steps[k] = {k * FilterPlan::kDepth, k * FilterPlan::kDepth * 16};
    }
  }
  if (images == 0) return;
  const int64_t groups = plan_.pointwise_pixels > 0 ? 1 : CeilDiv(images, plan_.strip_images);
  const int64_t rows = plan_.RowsOf(images);
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t image = group * plan_.strip_images;
    const int64_t count =
        plan_.pointwise_pixels > 0 ? 1 : std::min(plan_.strip_images, images - image);
    for (int64_t row = 0; row < rows; row += plan_.strip_rows) {
      SumStrip(job, {image, count, row, std::min(plan_.strip_rows, rows - row)});
      job.start = false;
    }
  }
}

template <class Tiles>
void TileFilter<Tiles>::SumStrip(const Job& job, const Strip& strip) const {
  job.copies.Pack(strip);
  const int64_t steps = CeilDiv(plan_.UsedPixels(strip), FilterPlan::kDepth);
  const int64_t products = plan_.splits * plan_.blocks();
  const int64_t sums_of_dy =
      job.gradient.dbias != nullptr ? plan_.splits * (plan_.padded_filters() / 16) : 0;
  const auto sum = [&](int thread, int64_t begin, int64_t end) {
    float* const scratch = job.memory.block + thread * plan_.block_elements();
    Tiles tiles;
    // No more rows than there are channels: a product takes a cycle for each row.
    tiles.Configure(
        ProductShapes(int(FilterPlan::kDepth), int(std::min<int64_t>(plan_.channels, kTileRows))));
    for (int64_t item = begin; item < end; ++item) {
      if (item >= products) {
        SumBias(job, item - products, steps);
      } else {
        SumBlock(tiles, job, strip, plan_.BlockAt(item, steps), scratch);
      }
    }
    tiles.Release();
  };
  ParallelForWithScratch(products + sums_of_dy, 1, plan_.threads, sum);
}

// A chunk of the steps at a time for all taps of a block, whose operands stay in the L1 cache.
template <class Tiles>
template <int kRows, int kColumns>
void TileFilter<Tiles>::Multiply(Tiles& tiles, const Job& job, const Block& block,
                                 float* sums) const {
  const Memory& memory = job.memory;
  const Bfloat16* const b = memory.dy + block.filter / 16 * plan_.panel();
  int64_t begin = block.begin;
  do {
    const int64_t count = std::min(kChunk, block.end - begin);
    float* to = sums;
    for (const Tap& tap : block.taps) {
      const Bfloat16* const a =
          plan_.XPlane(memory, tap.plane) + block.channel * plan_.x_pitch + tap.shift;
      const int64_t pitch = plan_.x_pitch * int64_t(sizeof(Bfloat16));
      const tile::Step* steps = memory.steps + begin;
      int64_t there = count;
      if (plan_.together > 1) {
        const int64_t list = &tap - plan_.taps.data(), most = plan_.pixels / FilterPlan::kDepth;
        const int64_t* const ends = memory.steps_end + list * (most + 1) + begin;
        steps = memory.steps + list * most + ends[0];
        there = ends[count] - ends[0];
      }
      if (begin == block.begin) {
        tile::MultiplyBlock<kRows, kColumns>(tiles, a, pitch, b, plan_.panel(), steps, there,
                                             block.channels, to);
      } else if (there > 0) {
        tile::MultiplyBlock<kRows, kColumns, true>(tiles, a, pitch, b, plan_.panel(), steps, there,
                                                   block.channels, to);
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
    if (plan_.in_place()) {
      pitch = dfilter.channel;
      to = dfilter.data + block.channel * pitch + tap.tap * dfilter.tap + block.filter;
      add = add || job.gradient.accumulate;
    } else {
      pitch = plan_.padded_filters();
      to = job.memory.sums + block.split * plan_.sums_elements() +
           ((&tap - plan_.taps.data()) * plan_.channels + block.channel) * pitch + block.filter;
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
  plan_.ForEachPlace(
      block.begin * FilterPlan::kDepth, (block.end - block.begin) * FilterPlan::kDepth,
      [&](int64_t, int64_t image, int64_t row, int64_t column) {
        const Bfloat16* const dy = job.copies.DyAt(strip, image, row, column);
        const Bfloat16* const x =
            job.copies.XAt(strip, image, row, column, tap.vertical, tap.horizontal);
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
  const int64_t panels = plan_.padded_filters() / 16, split = index / panels;
  const int64_t begin = steps * split / plan_.splits, end = steps * (split + 1) / plan_.splits;
  const Bfloat16* const pairs =
      job.memory.dy + index % panels * plan_.panel() + begin * FilterPlan::kDepth * 16;
  const int64_t count = (end - begin) * FilterPlan::kDepth;
  float* const to = job.memory.bias + split * plan_.padded_filters() + index % panels * 16;
  Tiles::kHardware ? AddPairsInVectors(pairs, count, to) : AddPairsPlainly(pairs, count, to);
}

// Those that no image meets, or all.
template <class Tiles>
void TileFilter<Tiles>::ZeroTaps(const Gradient& gradient, bool all) const {
  const Filter<float>& dfilter = gradient.dfilter;
  for (size_t tap = 0; tap < plan_.place.size(); ++tap) {
    if (!all && plan_.place[tap] >= 0) continue;
    for (int64_t c = 0; c < plan_.channels; ++c) {
      std::fill_n(dfilter.data + c * dfilter.channel + int64_t(tap) * dfilter.tap, plan_.filters,
                  0.0f);
    }
  }
}

template <class Tiles>
void TileFilter<Tiles>::Write(const Gradient& gradient, std::byte* workspace) const {
  const Memory memory = plan_.Divide(workspace);
  const int64_t blocks = CeilDiv(plan_.channels, int64_t{16});
  // Blocks of 16 by 16, whose lines are used up in either order.
  const int64_t items = plan_.in_place() ? 0 : int64_t(plan_.place.size()) * blocks;
  ParallelFor(0, items, 1 + 512 / plan_.filters, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      for (int64_t f = 0; f < plan_.filters; f += 16) {
        WriteBlock(gradient, memory, item / blocks, item % blocks * 16, f);
      }
    }
  });
  for (int64_t f = 0; gradient.dbias != nullptr && f < plan_.filters; ++f) {
    float sum = gradient.accumulate ? gradient.dbias[f] : 0.0f;
    for (int64_t split = 0; split < plan_.splits; ++split) {
      sum += memory.bias[split * plan_.padded_filters() + f];
    }
    gradient.dbias[f] = sum;
  }
}

template <class Tiles>
void TileFilter<Tiles>::WriteBlock(const Gradient& gradient, const Memory& memory, int64_t tap,
                                   int64_t channel, int64_t filter) const {
  const Filter<float>& dfilter = gradient.dfilter;
  const int64_t place = plan_.place[size_t(tap)];
  for (int64_t c = channel; c < std::min(channel + 16, plan_.channels); ++c) {
    float* const to = dfilter.data + tap * dfilter.tap + c * dfilter.channel;
    for (int64_t f = filter; f < std::min(filter + 16, plan_.filters); ++f) {
      float sum = gradient.accumulate ? to[f * dfilter.filter] : 0.0f;
      for (int64_t split = 0; split < plan_.splits && place >= 0; ++split) {
        sum += memory.sums[split * plan_.sums_elements() +
                           (place * plan_.channels + c) * plan_.padded_filters() + f];
      }
      to[f * dfilter.filter] = sum;
    }
  }
}

template class TileFilter<EmulatedTiles>;
template class TileFilter<EmulatedDots>;
template class TileFilter<HardwareDots>;
#ifdef DTNN_HAS_TILES
template class TileFilter<HardwareTiles>;
#endif

}  // namespace dtnn::conv::amx
