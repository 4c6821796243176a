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

constexpr int64_t kChains = 32;

// Those of even numbers, then those of odd ones.
float Add(const float* chains) {
  float sum = 0;
  for (int64_t i = 0; i < kChains; ++i) sum += chains[i];
  return sum;
}

}  // namespace

bool HasNaNPlainly(const BlockSums& sums) {
  return std::any_of(sums.data, sums.data + sums.rows * sums.columns,
                     [](float value) { return std::isnan(value); });
}

void AddBlockPlainly(const BlockSums& sums, bool add, float* to, int64_t pitch) {
  for (int64_t i = 0; i < sums.rows; ++i) {
    for (int64_t j = 0; j < sums.columns; ++j) {
      float& at = to[i * pitch + j];
      at = (add ? at : 0.0f) + sums.data[i * sums.columns + j];
    }
  }
}

float SumPlainly(const Bfloat16* numbers, int64_t count) {
  float chains[kChains] = {};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t lane = i % kChains / 2;
    chains[i % 2 * (kChains / 2) + lane] += float(numbers[i]);
  }
  return Add(chains);
}

#ifdef DTNN_HAS_TILES
#define DTNN_TARGET __attribute__((target("avx512f")))

DTNN_TARGET bool HasNaNInVectors(const BlockSums& sums) {
  __mmask16 nan = 0;
  for (int64_t i = 0; i < sums.rows * sums.columns; i += 16) {
    const __m512 v = _mm512_loadu_ps(sums.data + i);
    nan |= _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  }
  return nan != 0;
}

DTNN_TARGET void AddBlockInVectors(const BlockSums& sums, bool add, float* to, int64_t pitch) {
  for (int64_t i = 0; i < sums.rows; ++i) {
    for (int64_t j = 0; j < sums.columns; j += 16) {
      float* const at = to + i * pitch + j;
      const __m512 sum = _mm512_loadu_ps(sums.data + i * sums.columns + j);
      const __m512 before = add ? _mm512_loadu_ps(at) : _mm512_setzero_ps();
      _mm512_storeu_ps(at, _mm512_add_ps(before, sum));
    }
  }
}

DTNN_TARGET float SumInVectors(const Bfloat16* numbers, int64_t count) {
  const __m512i upper = _mm512_set1_epi32(int(0xffff0000));
  __m512 even = _mm512_setzero_ps(), odd = even;
  for (int64_t i = 0; i < count; i += kChains) {
    const __m512i pairs = _mm512_loadu_si512(numbers + i);
    even = _mm512_add_ps(even, _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)));
    odd = _mm512_add_ps(odd, _mm512_castsi512_ps(_mm512_and_si512(pairs, upper)));
  }
  float chains[kChains];
  _mm512_storeu_ps(chains, even);
  _mm512_storeu_ps(chains + 16, odd);
  return Add(chains);
}
#else
bool HasNaNInVectors(const BlockSums& sums) { return HasNaNPlainly(sums); }
void AddBlockInVectors(const BlockSums& sums, bool add, float* to, int64_t pitch) {
  AddBlockPlainly(sums, add, to, pitch);
}
float SumInVectors(const Bfloat16* numbers, int64_t count) { return SumPlainly(numbers, count); }
#endif

}  // namespace dtnn::conv::amx
