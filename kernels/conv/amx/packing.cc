#include "kernels/conv/amx/packing.h"

#include <algorithm>

#include "kernels/amx/tiles.h"

#ifdef DTNN_HAS_TILES
#include <immintrin.h>
// GCC 12 takes the undefined operands of its own intrinsics for mistakes (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace dtnn::conv::amx {

void PackPairsPlainly(const Pixels& from, Bfloat16* to) {
  for (int64_t i = 0; i < from.pixels; i += 2) {
    for (int c = 0; c < 16; ++c) {
      for (int64_t k = i; k < i + 2; ++k) {
        const bool there = c < from.channels && k < from.pixels;
        *to++ = there ? from.data[k * from.step + c] : Bfloat16(0);
      }
    }
  }
}

void TransposePlainly(const Pixels& from, Bfloat16* to, int64_t to_step) {
  for (int c = 0; c < from.channels; ++c) {
    for (int64_t i = 0; i < from.pixels; ++i) to[c * to_step + i] = from.data[i * from.step + c];
  }
}

#ifdef DTNN_HAS_TILES
#define DTNN_TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace {

// The channels of two pixels, side by side in pairs; without the second where it is null.
DTNN_TARGET inline __m512i Pair(const Bfloat16* first, const Bfloat16* second, __mmask16 channels) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(channels, first));
  if (second == nullptr) return low;
  const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(channels, second));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

__mmask16 MaskOf(int channels) { return __mmask16((1u << channels) - 1); }

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

DTNN_TARGET void PackPairsInVectors(const Pixels& from, Bfloat16* to) {
  const __mmask16 channels = MaskOf(from.channels);
  const Bfloat16* at = from.data;
  for (int64_t i = 0; i < from.pixels; i += 2, at += 2 * from.step, to += 32) {
    const bool two = i + 1 < from.pixels;
    _mm512_storeu_si512(to, Pair(at, two ? at + from.step : nullptr, channels));
  }
}

DTNN_TARGET void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step) {
  const __mmask16 channels = MaskOf(from.channels);
  for (int64_t i = 0; i < from.pixels; i += 32) {
    const int64_t count = std::min<int64_t>(32, from.pixels - i);
    const Bfloat16* at = from.data + i * from.step;
    __m512i rows[16];
    for (int k = 0; k < 16; ++k, at += 2 * from.step) {
      if (2 * k >= count) {
        rows[k] = _mm512_setzero_si512();
      } else {
        rows[k] = Pair(at, 2 * k + 1 < count ? at + from.step : nullptr, channels);
      }
    }
    Transpose16(rows);
    const auto pixels = __mmask32(~uint64_t{0} >> (64 - count));
    for (int c = 0; c < from.channels; ++c) {
      _mm512_mask_storeu_epi16(to + c * to_step + i, pixels, rows[c]);
    }
  }
}
#else
void PackPairsInVectors(const Pixels& from, Bfloat16* to) { PackPairsPlainly(from, to); }
void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step) {
  TransposePlainly(from, to, to_step);
}
#endif

}  // namespace dtnn::conv::amx
