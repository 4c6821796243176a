#include "kernels/amx/dots.h"

#include <utility>

#include "kernels/amx/flush.h"
#include "kernels/simd/unroll.h"

#ifdef DTNN_HAS_TILES
#include <immintrin.h>

#include <cstring>
// GCC 12 takes the undefined operands of its own intrinsics for mistakes (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace dtnn::tile {

void MultiplyDotsPlainly(const DotBlock& block) {
  const auto value = [](Bfloat16 of) { return Flush(float(of)); };
  const int64_t columns = 16 * block.panels;
  for (int64_t i = 0; i < block.rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float& at = block.sums[i * columns + j];
      float sum = block.add ? Flush(at) : 0.0f;
      for (const Step* step = block.steps; step != block.steps + block.step_count; ++step) {
        const Bfloat16* a = block.a + step->rows + i * (block.a_pitch / int64_t(sizeof(Bfloat16)));
        const Bfloat16* b = block.b + step->columns + j / 16 * block.b_pitch + j % 16 * 2;
        for (int64_t pair = 0; pair < block.pairs; ++pair, a += 2, b += 32) {
          sum = FlushedMulAdd(value(a[1]), value(b[1]), sum);
          sum = FlushedMulAdd(value(a[0]), value(b[0]), sum);
        }
      }
      at = sum;
    }
  }
}

#ifdef DTNN_HAS_TILES
namespace {

// Rows whose sums stay in registers, beside a panel's or two's vectors and a pair of the rows.
template <int kPanels>
constexpr int kMostRows = kPanels == 2 ? 14 : 16;

inline int PairAt(const std::byte* from) {
  int pair;
  std::memcpy(&pair, from, sizeof(pair));
  return pair;
}

template <int kPanels, int kR>
__attribute__((target("avx512f,avx512bf16"))) void MultiplyRows(const DotBlock& block,
                                                                int64_t first) {
  float* const to = block.sums + first * 16 * kPanels;
  __m512 sums[kR][kPanels];
  DTNN_UNROLL(16)
  for (int i = 0; i < kR; ++i) {
    DTNN_UNROLL(2)
    for (int v = 0; v < kPanels; ++v) {
      sums[i][v] = block.add ? _mm512_loadu_ps(to + 16 * (i * kPanels + v)) : _mm512_setzero_ps();
    }
  }
  const int64_t pitch = block.a_pitch;
  const std::byte* const a = reinterpret_cast<const std::byte*>(block.a) + first * pitch;
  for (const Step* step = block.steps; step != block.steps + block.step_count; ++step) {
    // One pointer for three rows: pointer, pointer + pitch, pointer + 2 * pitch are addressing
    // modes.
    constexpr int kBases = (kR + 2) / 3;
    const std::byte* base[kBases];
    DTNN_UNROLL(16)
    for (int i = 0; i < kBases; ++i) {
      base[i] = a + step->rows * int64_t(sizeof(Bfloat16)) + 3 * i * pitch;
    }
    const Bfloat16* b = block.b + step->columns;
    for (int64_t pair = block.pairs; pair > 0; --pair, b += 32) {
      __m512bh columns[kPanels];
      DTNN_UNROLL(2)
      for (int v = 0; v < kPanels; ++v) {
        columns[v] = __m512bh(_mm512_loadu_si512(b + v * block.b_pitch));
      }
      DTNN_UNROLL(16)
      for (int i = 0; i < kR; ++i) {
        const auto row = __m512bh(_mm512_set1_epi32(PairAt(base[i / 3] + i % 3 * pitch)));
        DTNN_UNROLL(2)
        for (int v = 0; v < kPanels; ++v) {
          sums[i][v] = _mm512_dpbf16_ps(sums[i][v], row, columns[v]);
        }
      }
      DTNN_UNROLL(16)
      for (int i = 0; i < kBases; ++i) base[i] += sizeof(int);
    }
  }
  DTNN_UNROLL(16)
  for (int i = 0; i < kR; ++i) {
    DTNN_UNROLL(2)
    for (int v = 0; v < kPanels; ++v) _mm512_storeu_ps(to + 16 * (i * kPanels + v), sums[i][v]);
  }
}

using MultiplyRowsOf = void (*)(const DotBlock& block, int64_t first);

// Those of 1, 2, ... rows.
template <int kPanels, int... kRows>
const MultiplyRowsOf* RowsOf(std::integer_sequence<int, kRows...>) {
  static constexpr MultiplyRowsOf kOf[] = {&MultiplyRows<kPanels, kRows + 1>...};
  return kOf;
}

// In parts of about equal size: a small one at the end would wait for its few sums.
template <int kPanels>
void MultiplyPanels(const DotBlock& block) {
  constexpr int kMost = kMostRows<kPanels>;
  const MultiplyRowsOf* const of = RowsOf<kPanels>(std::make_integer_sequence<int, kMost>());
  for (int64_t first = 0; first < block.rows;) {
    const int64_t left = block.rows - first, parts = (left + kMost - 1) / kMost;
    const int64_t rows = (left + parts - 1) / parts;
    of[rows - 1](block, first);
    first += rows;
  }
}

}  // namespace

void MultiplyDotsInVectors(const DotBlock& block) {
  block.panels == 2 ? MultiplyPanels<2>(block) : MultiplyPanels<1>(block);
}
#else
void MultiplyDotsInVectors(const DotBlock& block) { MultiplyDotsPlainly(block); }
#endif

}  // namespace dtnn::tile
