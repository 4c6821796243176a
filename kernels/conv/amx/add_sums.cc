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

constexpr int64_t kTogether = 256;  // pairs

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

void AddPairsPlainly(const Bfloat16* pairs, int64_t count, float* to) {
  for (int64_t first = 0; first < count; first += kTogether) {
    const int64_t last = std::min(count, first + kTogether);
    for (int c = 0; c < 16; ++c) {
      float even = 0, odd = 0;
      for (int64_t i = first; i < last; ++i) {
        even += float(pairs[i * 32 + 2 * c]);
        odd += float(pairs[i * 32 + 2 * c + 1]);
      }
      to[c] += even + odd;
    }
  }
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

DTNN_TARGET void AddPairsInVectors(const Bfloat16* pairs, int64_t count, float* to) {
  const __m512i upper = _mm512_set1_epi32(int(0xffff0000));
  for (int64_t first = 0; first < count; first += kTogether) {
    const int64_t last = std::min(count, first + kTogether);
    __m512 even = _mm512_setzero_ps(), odd = even;
    for (int64_t i = first; i < last; ++i) {
      const __m512i pair = _mm512_loadu_si512(pairs + i * 32);
      even = _mm512_add_ps(even, _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16)));
      odd = _mm512_add_ps(odd, _mm512_castsi512_ps(_mm512_and_si512(pair, upper)));
    }
    _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), _mm512_add_ps(even, odd)));
  }
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
