#include "kernels/conv/amx/add_sums.h"

#include <algorithm>
#include <cmath>

#include "kernels/amx/tiles.h"

#ifdef DTNN_HAS_TILES
#include <immintrin.h>
// GCC 12 takes the undefined operands of its own intrinsics for mistakes (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace dtnn::conv::amx {
namespace {

constexpr int64_t kChains = 8;

}  // namespace

bool HasNaNPlainly(const BlockSums& sums) {
  for (int64_t i = 0; i < sums.rows; ++i) {
    const float* const row = sums.data + i * sums.pitch;
    if (std::any_of(row, row + sums.columns, [](float value) { return std::isnan(value); })) {
      return true;
    }
  }
  return false;
}

void AddBlockPlainly(const BlockSums& sums, bool add, float* to, int64_t pitch) {
  for (int64_t i = 0; i < sums.rows; ++i) {
    for (int64_t j = 0; j < sums.columns; ++j) {
      float& at = to[i * pitch + j];
      at = (add ? at : 0.0f) + sums.data[i * sums.pitch + j];
    }
  }
}

void AddPairsPlainly(const Bfloat16* pairs, int64_t count, float* to) {
  for (int64_t f = 0; f < 16; ++f) {
    float chains[kChains] = {};
    for (int64_t i = 0; i < count; ++i) {
      chains[i % kChains] += float(pairs[i / 2 * 32 + f * 2 + i % 2]);
    }
    float sum = 0;
    for (const float chain : chains) sum += chain;
    to[f] += sum;
  }
}

#ifdef DTNN_HAS_TILES
#define DTNN_TARGET __attribute__((target("avx512f")))

namespace {

// Which of columns `first` to first + 15 there are.
__mmask16 MaskOf(const BlockSums& sums, int64_t first) {
  return __mmask16(sums.columns - first >= 16 ? 0xffff : (1u << (sums.columns - first)) - 1);
}

}  // namespace

DTNN_TARGET bool HasNaNInVectors(const BlockSums& sums) {
  __mmask16 nan = 0;
  for (int64_t j = 0; j < sums.columns; j += 16) {
    const __mmask16 mask = MaskOf(sums, j);
    for (int64_t i = 0; i < sums.rows; ++i) {
      const __m512 v = _mm512_loadu_ps(sums.data + i * sums.pitch + j);
      nan |= _mm512_mask_cmp_ps_mask(mask, v, v, _CMP_UNORD_Q);
    }
  }
  return nan != 0;
}

DTNN_TARGET void AddBlockInVectors(const BlockSums& sums, bool add, float* to, int64_t pitch) {
  for (int64_t i = 0; i < sums.rows; ++i) {
    for (int64_t j = 0; j < sums.columns; j += 16) {
      const __mmask16 mask = MaskOf(sums, j);
      float* const at = to + i * pitch + j;
      const __m512 sum = _mm512_loadu_ps(sums.data + i * sums.pitch + j);
      const __m512 before = add ? _mm512_maskz_loadu_ps(mask, at) : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(at, mask, _mm512_add_ps(before, sum));
    }
  }
}

DTNN_TARGET void AddPairsInVectors(const Bfloat16* pairs, int64_t count, float* to) {
  const __m512i upper = _mm512_set1_epi32(int(0xffff0000));
  __m512 chains[kChains];
  for (__m512& chain : chains) chain = _mm512_setzero_ps();
  for (int64_t i = 0; i < count; i += kChains, pairs += kChains * 16) {
    for (int64_t k = 0; k < kChains; k += 2) {
      const __m512i pair = _mm512_loadu_si512(pairs + k * 16);
      chains[k] = _mm512_add_ps(chains[k], _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16)));
      chains[k + 1] =
          _mm512_add_ps(chains[k + 1], _mm512_castsi512_ps(_mm512_and_si512(pair, upper)));
    }
  }
  __m512 sum = _mm512_setzero_ps();
  for (const __m512& chain : chains) sum = _mm512_add_ps(sum, chain);
  _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), sum));
}
#else
bool HasNaNInVectors(const BlockSums& sums) { return HasNaNPlainly(sums); }
void AddBlockInVectors(const BlockSums& sums, bool add, float* to, int64_t pitch) {
  AddBlockPlainly(sums, add, to, pitch);
}
void AddPairsInVectors(const Bfloat16* pairs, int64_t count, float* to) {
  AddPairsPlainly(pairs, count, to);
}
#endif

}  // namespace dtnn::conv::amx
