#include "kernels/gemm/amx/tile_product.h"

#include <algorithm>
#include <array>

#include "kernels/amx/dots.h"
#include "kernels/amx/packing.h"
#include "kernels/amx/products.h"
#include "kernels/amx/tiles.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr int64_t kDepth = 32;  // of a step
// Steps of a slice, whose columns stay in the L1 cache.
constexpr int64_t kSlice = 16;
constexpr int64_t kColumns = 32, kPanel = kSlice * kDepth * 16;  // elements of 16 columns
// Rows of an item: the columns are packed once for all of them.
constexpr int64_t kRows = 256;
constexpr int64_t kPackedDepth = 128, kPackedRows = 256;  // at a time
// Below this, starting threads costs more than it saves.
constexpr double kSerialFlops = 4e6;

constexpr Bfloat16 kZeros[kPackedRows] = {};

constexpr auto kSteps = [] {
  std::array<tile::Step, size_t(kSlice)> steps = {};
  for (int64_t i = 0; i < kSlice; ++i) steps[size_t(i)] = {i * kDepth, i * kDepth * 16};
  return steps;
}();

// Rows of an odd number of lines, which do not share a set of a cache.
int64_t PackedPitch(int64_t depth) { return (CeilDiv(depth, kDepth) | 1) * kDepth; }

template <int kTilesOfRows, int kTilesOfColumns, class Tiles>
void MultiplyTiles(Tiles& tiles, const Bfloat16* rows, int64_t pitch, const Bfloat16* columns,
                   int64_t steps, bool add, int64_t wanted, float* sums) {
  pitch *= int64_t(sizeof(Bfloat16));
  if (add) {
    tile::MultiplyBlock<kTilesOfRows, kTilesOfColumns, true>(tiles, rows, pitch, columns, kPanel,
                                                             kSteps.data(), steps, wanted, sums);
  } else {
    tile::MultiplyBlock<kTilesOfRows, kTilesOfColumns>(tiles, rows, pitch, columns, kPanel,
                                                       kSteps.data(), steps, wanted, sums);
  }
}

}  // namespace

template <class Tiles>
TileProduct<Tiles>::TileProduct(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b)
    : m_(m),
      n_(n),
      k_(k),
      transpose_a_(transpose_a),
      transpose_b_(transpose_b),
      threads_(NumThreads()) {}

template <class Tiles>
typename TileProduct<Tiles>::Own TileProduct<Tiles>::DivideOwn(std::byte* memory) const {
  const int64_t rows = std::min(kRows, RoundUp(exchanged() ? n_ : m_, int64_t{2 * kTileRows}));
  ScratchDivider divider(memory);
  Own own;
  own.columns = divider.Take<Bfloat16>(kPanel * kColumns / 16);
  own.sums = divider.Take<float>(rows * kColumns);
  own.transposed = divider.Take<float>(exchanged() ? 2 * kTileRows * kColumns : 0);
  own.bytes = divider.bytes();
  return own;
}

template <class Tiles>
typename TileProduct<Tiles>::Memory TileProduct<Tiles>::Divide(std::byte* workspace, int64_t m,
                                                               int64_t n, int64_t k) const {
  const int64_t rows = RoundUp(exchanged() ? n : m, int64_t{kTileRows}), pitch = PackedPitch(k);
  ScratchDivider divider(workspace);
  Memory memory;
  memory.rows = divider.Take<Bfloat16>(packs_rows() ? rows * pitch : 0);
  memory.rest = divider.Take<Bfloat16>(packs_rows() ? 0 : rows * kDepth);
  memory.last = divider.Take<Bfloat16>(packs_rows() ? 0 : kTileRows * pitch);
  memory.threads = divider.Take<std::byte>(int64_t(threads_) * int64_t(DivideOwn(nullptr).bytes));
  memory.bytes = divider.bytes();
  return memory;
}

template <class Tiles>
void TileProduct<Tiles>::Run(const Call& call) const {
  const Problem problem = {.call = call,
                           .rows = exchanged() ? call.n : call.m,
                           .columns = exchanged() ? call.m : call.n,
                           .depth = call.k,
                           .of_rows = exchanged() ? call.b : call.a,
                           .of_columns = exchanged() ? call.a : call.b,
                           .memory = Divide(call.workspace, call.m, call.n, call.k)};
  packs_rows() ? PackRows(problem) : PackRest(problem);
  const int64_t items = CeilDiv(problem.rows, kRows) * CeilDiv(problem.columns, kColumns);
  const double flops = 2.0 * double(call.m) * double(call.n) * double(call.k);
  const int threads = flops < kSerialFlops ? 1 : std::min(threads_, NumThreads());
  ParallelForWithScratch(items, 1, threads, [&](int thread, int64_t begin, int64_t end) {
    const Own own = DivideOwn(problem.memory.threads + size_t(thread) * DivideOwn(nullptr).bytes);
    Tiles tiles;
    tiles.Configure(ProductShapes(int(kDepth), int(std::min<int64_t>(problem.rows, kTileRows))));
    for (int64_t item = begin; item < end; ++item) RunItem(tiles, problem, item, own);
    tiles.Release();
  });
}

// Rows whose elements lie apart, with zeros up to whole steps.
template <class Tiles>
void TileProduct<Tiles>::PackRows(const Problem& problem) const {
  const Bfloat16* const from = problem.of_rows.data;
  const int64_t from_pitch = problem.of_rows.pitch;
  const int64_t pitch = PackedPitch(problem.depth);
  const int64_t blocks = CeilDiv(problem.rows, kPackedRows);
  const int64_t slices = CeilDiv(problem.depth, kPackedDepth);
  ParallelFor(0, blocks * slices, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item / slices * kPackedRows, first = item % slices * kPackedDepth;
      const int64_t there = std::min(kPackedDepth, problem.depth - first);
      const Bfloat16* at[kPackedDepth];
      for (int64_t k = 0; k < kPackedDepth; ++k) {
        at[k] = k < there ? from + (first + k) * from_pitch + row : kZeros;
      }
      const tile::Pixels pixels = {at, RoundUp(there, kDepth),
                                   std::min(kPackedRows, problem.rows - row)};
      Bfloat16* const to = problem.memory.rows + row * pitch + first;
      Tiles::kHardware ? tile::TransposeInVectors(pixels, to, pitch)
                       : tile::TransposePlainly(pixels, to, pitch);
    }
  });
}

// Tiles read rows where they are, but for the elements of the last step, which zeros must follow,
// and for a last tile that would reach beyond the rows.
template <class Tiles>
void TileProduct<Tiles>::PackRest(const Problem& problem) const {
  const Bfloat16* const from = problem.of_rows.data;
  const int64_t from_pitch = problem.of_rows.pitch;
  const auto copy = [&](int64_t row, int64_t first, int64_t size, Bfloat16* to) {
    const int64_t there = problem.depth - first;
    std::copy_n(from + row * from_pitch + first, there, to);
    std::fill(to + there, to + size, Bfloat16(0));
  };
  const int64_t whole = problem.depth / kDepth * kDepth;
  for (int64_t row = 0; whole < problem.depth && row < problem.rows; ++row) {
    copy(row, whole, kDepth, problem.memory.rest + row * kDepth);
  }
  const int64_t pitch = PackedPitch(problem.depth);
  const int64_t last = problem.rows / kTileRows * kTileRows;
  for (int64_t row = last; row < problem.rows; ++row) {
    copy(row, 0, RoundUp(problem.depth, kDepth), problem.memory.last + (row - last) * pitch);
  }
}

// `size` of the depth from `first` on, with zeros after its end, for up to 32 columns.
template <class Tiles>
void TileProduct<Tiles>::PackColumns(const Problem& problem, int64_t column, int64_t first,
                                     int64_t size, Bfloat16* to) const {
  const auto& [from, pitch] = problem.of_columns;
  const int64_t columns = std::min(kColumns, problem.columns - column);
  const int64_t there = std::min(size, problem.depth - first);
  if (columns_lie_apart()) {
    const Bfloat16* at[kSlice * kDepth];
    for (int64_t k = 0; k < size; ++k) {
      at[k] = k < there ? from + (first + k) * pitch + column : kZeros;
    }
    const tile::Pixels pixels = {at, size, columns};
    Tiles::kHardware ? tile::PackPairsInVectors(pixels, to, kPanel)
                     : tile::PackPairsPlainly(pixels, to, kPanel);
    return;
  }
  for (int64_t j = 0; j < columns; j += 16, to += kPanel) {
    const Bfloat16* rows[16];
    for (int64_t i = 0; i < 16; ++i) {
      rows[i] = j + i < columns ? from + (column + j + i) * pitch + first : nullptr;
    }
    Tiles::kHardware ? tile::PackRowPairsInVectors(rows, there, size, to)
                     : tile::PackRowPairsPlainly(rows, there, size, to);
  }
}

// Up to kRows rows by up to kColumns columns; sums are written while the next ones are multiplied.
template <class Tiles>
void TileProduct<Tiles>::RunItem(Tiles& tiles, const Problem& problem, int64_t item,
                                 const Own& own) const {
  const int64_t panels = CeilDiv(problem.columns, kColumns);
  const int64_t row = item / panels * kRows, column = item % panels * kColumns;
  const int64_t row_end = std::min(row + kRows, problem.rows);
  const int64_t steps = CeilDiv(problem.depth, kDepth);
  const auto sums_of = [&](int64_t at) { return own.sums + (at - row) * kColumns; };
  int64_t first = 0;
  do {
    const int64_t count = std::min(kSlice, steps - first);
    PackColumns(problem, column, first * kDepth, count * kDepth, own.columns);
    for (int64_t at = row; at < row_end; at += 2 * kTileRows) {
      if (problem.columns - column > 16) {
        MultiplyRows<2>(tiles, problem, at, row_end, first, count, own.columns, sums_of(at));
      } else {
        MultiplyRows<1>(tiles, problem, at, row_end, first, count, own.columns, sums_of(at));
      }
      if (first + count == steps && at > row) {
        const int64_t before = at - 2 * kTileRows;
        Write(problem, sums_of(before), before, column, own.transposed);
      }
    }
    first += count;
  } while (first < steps);
  const int64_t last = row + (row_end - 1 - row) / (2 * kTileRows) * (2 * kTileRows);
  Write(problem, sums_of(last), last, column, own.transposed);
}

// Up to two tiles of rows from `row` on, over steps [first, first + steps), added to sums that
// others have begun.
template <class Tiles>
template <int kTilesOfColumns>
void TileProduct<Tiles>::MultiplyRows(Tiles& tiles, const Problem& problem, int64_t row,
                                      int64_t row_end, int64_t first, int64_t steps,
                                      const Bfloat16* columns, float* sums) const {
  const auto multiply = [&](const Bfloat16* rows, int64_t pitch, int64_t from, int64_t count,
                            int64_t wanted, float* to) {
    const Bfloat16* const b = columns + from * kDepth * 16;
    const bool add = first + from > 0;
    if (wanted > kTileRows) {
      MultiplyTiles<2, kTilesOfColumns>(tiles, rows, pitch, b, count, add, wanted, to);
    } else {
      MultiplyTiles<1, kTilesOfColumns>(tiles, rows, pitch, b, count, add, wanted, to);
    }
  };
  const int64_t packed_pitch = PackedPitch(problem.depth);
  const int64_t there = std::min<int64_t>(2 * kTileRows, row_end - row);
  if (packs_rows()) {
    const Bfloat16* const rows = problem.memory.rows + row * packed_pitch + first * kDepth;
    return multiply(rows, packed_pitch, 0, steps, there, sums);
  }
  const int64_t in_place = problem.rows / kTileRows * kTileRows - row;
  const bool rest = (first + steps) * kDepth > problem.depth;
  const int64_t whole = steps - rest;
  if (in_place > 0) {
    const int64_t wanted = in_place > kTileRows ? there : kTileRows;
    const int64_t pitch = problem.of_rows.pitch;
    if (whole > 0 || !rest) {
      multiply(problem.of_rows.data + row * pitch + first * kDepth, pitch, 0, whole, wanted, sums);
    }
    if (rest) multiply(problem.memory.rest + row * kDepth, kDepth, whole, 1, wanted, sums);
    if (wanted == there) return;
    sums += kTileRows * kTilesOfColumns * 16;
  }
  multiply(problem.memory.last + first * kDepth, packed_pitch, 0, steps, problem.rows % kTileRows,
           sums);
}

template <class Tiles>
void TileProduct<Tiles>::Write(const Problem& problem, const float* sums, int64_t row,
                               int64_t column, float* transposed) const {
  const int64_t rows = std::min<int64_t>(2 * kTileRows, problem.rows - row);
  const int64_t columns = std::min(kColumns, problem.columns - column);
  const int64_t pitch = RoundUp(columns, int64_t{16});
  tile::RowsOfResults c = problem.call.c;
  int64_t channel = column;
  c.sums = sums, c.sums_pitch = pitch, c.rows = rows, c.channels = int(columns);
  if (exchanged()) {
    constexpr int64_t kPitch = 2 * kTileRows;
    for (int64_t i = 0; i < rows; i += 16) {
      for (int64_t j = 0; j < columns; j += 16) {
        const float* const from = sums + i * pitch + j;
        float* const to = transposed + j * kPitch + i;
        Tiles::kHardware ? tile::TransposeSumsInVectors(from, pitch, to, kPitch)
                         : tile::TransposeSumsPlainly(from, pitch, to, kPitch);
      }
    }
    c.sums = transposed, c.sums_pitch = kPitch, c.rows = columns, c.channels = int(rows);
    channel = row, row = column;
  }
  if (c.scale != nullptr) c.scale += channel;
  if (c.bias != nullptr) c.bias += channel;
  if (c.addend != nullptr) c.addend += row * c.addend_pitch + channel;
  if (c.out != nullptr) c.out += row * c.out_pitch + channel;
  if (c.wide != nullptr) c.wide += row * c.out_pitch + channel;
  Tiles::kHardware ? tile::WriteBackInVectors(c) : tile::WriteBackPlainly(c);
}

template class TileProduct<EmulatedTiles>;
template class TileProduct<EmulatedDots>;
template class TileProduct<HardwareDots>;
#ifdef DTNN_HAS_TILES
template class TileProduct<HardwareTiles>;
#endif

}  // namespace dtnn
