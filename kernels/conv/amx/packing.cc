#include "kernels/conv/amx/packing.h"

#include <algorithm>

#include "kernels/amx/tiles.h"
#include "tensor/rounding.h"

#ifdef DTNN_HAS_TILES
#include <immintrin.h>
// GCC 12 takes the undefined operands of its own intrinsics for mistakes (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace dtnn::conv::amx {

void PackPairsPlainly(const Pixels& from, Bfloat16* to, int64_t panel) {
  for (int64_t c = 0; c < RoundUp(from.channels, 16); ++c) {
    Bfloat16* const out = to + c / 16 * panel + c % 16 * 2;
    for (int64_t i = 0; i < from.count; ++i) {
      out[i / 2 * 32 + i % 2] = c < from.channels ? from.at[i][c] : Bfloat16(0);
    }
  }
}

void TransposePlainly(const Pixels& from, Bfloat16* to, int64_t to_step) {
  for (int64_t c = 0; c < RoundUp(from.channels, 16); ++c) {
    for (int64_t i = 0; i < from.count; ++i) {
      to[c * to_step + i] = c < from.channels ? from.at[i][c] : Bfloat16(0);
    }
  }
}

#ifdef DTNN_HAS_TILES
#define DTNN_TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace {

// Channels of two pixels, side by side in pairs.
DTNN_TARGET inline __m512i Pair(const Bfloat16* first, const Bfloat16* second, __mmask16 channels) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(channels, first));
  const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(channels, second));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

__mmask16 MaskOf(int64_t channels) {
  return __mmask16(channels >= 16 ? 0xffff : (1u << channels) - 1);
}

// rows[i][j] becomes rows[j][i], of 16 x 16 elements of 32 bits.
DTNN_TARGET inline void Transpose16(__m512i* rows) {
  __m512i a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  // b[4 g + k]: in its fourth number q, column 4 q + k of rows 4 g to 4 g + 3.
  for (int k = 0; k < 4; ++k) {
    const __m512i even = _mm512_shuffle_i32x4(b[k], b[4 + k], 0x88);
    const __m512i odd = _mm512_shuffle_i32x4(b[k], b[4 + k], 0xdd);
    const __m512i even_high = _mm512_shuffle_i32x4(b[8 + k], b[12 + k], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(b[8 + k], b[12 + k], 0xdd);
    rows[k] = _mm512_shuffle_i32x4(even, even_high, 0x88);
    rows[8 + k] = _mm512_shuffle_i32x4(even, even_high, 0xdd);
    rows[4 + k] = _mm512_shuffle_i32x4(odd, odd_high, 0x88);
    rows[12 + k] = _mm512_shuffle_i32x4(odd, odd_high, 0xdd);
  }
}

}  // namespace

DTNN_TARGET void PackPairsInVectors(const Pixels& from, Bfloat16* to, int64_t panel) {
  for (int64_t c = 0; c < from.channels; c += 16, to += panel) {
    const __mmask16 channels = MaskOf(from.channels - c);
    for (int64_t i = 0; i < from.count; i += 2) {
      _mm512_storeu_si512(to + i * 16, Pair(from.at[i] + c, from.at[i + 1] + c, channels));
    }
  }
}

DTNN_TARGET void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step) {
  for (int64_t c = 0; c < from.channels; c += 16, to += 16 * to_step) {
    const __mmask16 channels = MaskOf(from.channels - c);
    for (int64_t i = 0; i < from.count; i += 32) {
      __m512i rows[16];
      for (int k = 0; k < 16; ++k) {
        rows[k] = Pair(from.at[i + 2 * k] + c, from.at[i + 2 * k + 1] + c, channels);
      }
      Transpose16(rows);
      for (int k = 0; k < 16; ++k) _mm512_storeu_si512(to + k * to_step + i, rows[k]);
    }
  }
}
#else
void PackPairsInVectors(const Pixels& from, Bfloat16* to, int64_t panel) {
  PackPairsPlainly(from, to, panel);
}
void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step) {
  TransposePlainly(from, to, to_step);
}
#endif

}  // namespace dtnn::conv::amx
