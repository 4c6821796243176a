#include "kernels/amx/packing.h"

#include <algorithm>

#include "kernels/amx/tiles.h"
#include "tensor/rounding.h"

#ifdef DTNN_HAS_TILES
#include <immintrin.h>
// GCC 12 takes the undefined operands of its own intrinsics for mistakes (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace dtnn::tile {

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

void PackRowPairsPlainly(const Bfloat16* const* rows, int64_t depth, int64_t padded, Bfloat16* to) {
  for (int64_t k = 0; k < padded; ++k) {
    for (int64_t j = 0; j < 16; ++j) {
      to[k / 2 * 32 + j * 2 + k % 2] = k < depth && rows[j] != nullptr ? rows[j][k] : Bfloat16(0);
    }
  }
}

void TransposeSumsPlainly(const float* from, int64_t from_pitch, float* to, int64_t to_pitch) {
  for (int64_t i = 0; i < 16; ++i) {
    for (int64_t j = 0; j < 16; ++j) to[j * to_pitch + i] = from[i * from_pitch + j];
  }
}

#ifdef DTNN_HAS_TILES
#define DTNN_TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace {

// 16 channels of two pixels, side by side in pairs.
DTNN_TARGET inline __m512i Interleave(__m256i first, __m256i second) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(first),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
}
DTNN_TARGET inline __m512i Pair(const Bfloat16* first, const Bfloat16* second, __mmask16 channels) {
  return Interleave(_mm256_maskz_loadu_epi16(channels, first),
                    _mm256_maskz_loadu_epi16(channels, second));
}

__mmask32 MaskOf(int64_t channels) {
  return __mmask32(channels >= 32 ? ~uint32_t{0} : (uint32_t{1} << channels) - 1);
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

// A line at a time: it may be far away.
DTNN_TARGET void PackPairsInVectors(const Pixels& from, Bfloat16* to, int64_t panel) {
  for (int64_t c = 0; c < from.channels; c += 32, to += 2 * panel) {
    const __mmask32 channels = MaskOf(from.channels - c);
    const bool both = from.channels - c > 16;
    for (int64_t i = 0; i < from.count; i += 2) {
      const __m512i first = _mm512_maskz_loadu_epi16(channels, from.at[i] + c);
      const __m512i second = _mm512_maskz_loadu_epi16(channels, from.at[i + 1] + c);
      _mm512_storeu_si512(
          to + i * 16, Interleave(_mm512_castsi512_si256(first), _mm512_castsi512_si256(second)));
      if (!both) continue;
      _mm512_storeu_si512(to + panel + i * 16, Interleave(_mm512_extracti64x4_epi64(first, 1),
                                                          _mm512_extracti64x4_epi64(second, 1)));
    }
  }
}

DTNN_TARGET void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step) {
  for (int64_t c = 0; c < from.channels; c += 16, to += 16 * to_step) {
    const auto channels = __mmask16(MaskOf(from.channels - c));
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

DTNN_TARGET void PackRowPairsInVectors(const Bfloat16* const* rows, int64_t depth, int64_t padded,
                                       Bfloat16* to) {
  for (int64_t k = 0; k < padded; k += 32) {
    const int64_t there = std::clamp<int64_t>(depth - k, 0, 32);
    const auto mask = __mmask32((uint64_t{1} << there) - 1);
    __m512i block[16];
    for (int j = 0; j < 16; ++j) {
      block[j] =
          rows[j] == nullptr ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi16(mask, rows[j] + k);
    }
    Transpose16(block);
    const int64_t pairs = std::min<int64_t>(16, (padded - k) / 2);
    for (int64_t i = 0; i < pairs; ++i, to += 32) _mm512_storeu_si512(to, block[i]);
  }
}

DTNN_TARGET void TransposeSumsInVectors(const float* from, int64_t from_pitch, float* to,
                                        int64_t to_pitch) {
  __m512i block[16];
  for (int i = 0; i < 16; ++i) block[i] = _mm512_loadu_si512(from + i * from_pitch);
  Transpose16(block);
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * to_pitch, block[i]);
}
#else
void PackRowPairsInVectors(const Bfloat16* const* rows, int64_t depth, int64_t padded,
                           Bfloat16* to) {
  PackRowPairsPlainly(rows, depth, padded, to);
}
void TransposeSumsInVectors(const float* from, int64_t from_pitch, float* to, int64_t to_pitch) {
  TransposeSumsPlainly(from, from_pitch, to, to_pitch);
}
void PackPairsInVectors(const Pixels& from, Bfloat16* to, int64_t panel) {
  PackPairsPlainly(from, to, panel);
}
void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step) {
  TransposePlainly(from, to, to_step);
}
#endif

}  // namespace dtnn::tile
