#include "kernels/amx/write_back.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/amx/tiles.h"

#ifdef DTNN_HAS_TILES
#include <immintrin.h>
// GCC 12 takes the undefined operands of its own intrinsics for mistakes (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace dtnn::tile {

void WriteBackPlainly(const RowsOfResults& r) {
  for (int64_t i = 0; r.wide != nullptr && i < r.rows; ++i) {
    std::copy_n(r.sums + i * r.sums_pitch, r.channels, r.wide + i * r.out_pitch);
  }
  if (r.wide != nullptr) return;
  for (int64_t i = 0; i < r.rows; ++i) {
    for (int j = 0; j < r.channels; ++j) {
      float value = r.sums[i * r.sums_pitch + j];
      if (r.scale != nullptr) {
        value = std::fma(value, r.scale[j], r.bias == nullptr ? 0.0f : r.bias[j]);
      } else if (r.bias != nullptr) {
        value += r.bias[j];
      }
      if (r.addend != nullptr) value += float(r.addend[i * r.addend_pitch + j]);
      if (r.relu && value < 0) value = 0;
      if (std::abs(value) < std::numeric_limits<float>::min()) value = std::copysign(0.0f, value);
      r.out[i * r.out_pitch + j] = Bfloat16(value);
    }
  }
}

#ifdef DTNN_HAS_TILES
#define DTNN_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace {

// Channels `kFirst` to kFirst + 15 of a row, but for the rounding.
struct Half {
  __m512 scale, bias;
};

DTNN_TARGET inline __m512 Result(const RowsOfResults& r, const Half& half, __m512 value,
                                 __m256i addend) {
  if (r.scale != nullptr) {
    value = _mm512_fmadd_ps(value, half.scale, half.bias);
  } else if (r.bias != nullptr) {
    value = _mm512_add_ps(value, half.bias);
  }
  if (r.addend != nullptr) {
    const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(addend), 16);
    value = _mm512_add_ps(value, _mm512_castsi512_ps(wide));
  }
  // If one of its operands is NaN, the instruction returns the second one.
  return r.relu ? _mm512_max_ps(_mm512_setzero_ps(), value) : value;
}

}  // namespace

DTNN_TARGET void WriteBackInVectors(const RowsOfResults& r) {
  const auto mask = __mmask32(~uint64_t{0} >> (64 - r.channels));
  const auto low_mask = __mmask16(mask), high_mask = __mmask16(mask >> 16);
  if (r.wide != nullptr) {
    for (int64_t i = 0; i < r.rows; ++i) {
      const float* const sums = r.sums + i * r.sums_pitch;
      float* const to = r.wide + i * r.out_pitch;
      _mm512_mask_storeu_ps(to, low_mask, _mm512_loadu_ps(sums));
      if (r.channels > 16) _mm512_mask_storeu_ps(to + 16, high_mask, _mm512_loadu_ps(sums + 16));
    }
    return;
  }
  Half low = {_mm512_setzero_ps(), _mm512_setzero_ps()}, high = low;
  if (r.scale != nullptr) {
    low.scale = _mm512_maskz_loadu_ps(low_mask, r.scale);
    high.scale = _mm512_maskz_loadu_ps(high_mask, r.scale + 16);
  }
  if (r.bias != nullptr) {
    low.bias = _mm512_maskz_loadu_ps(low_mask, r.bias);
    high.bias = _mm512_maskz_loadu_ps(high_mask, r.bias + 16);
  }
  for (int64_t i = 0; i < r.rows; ++i) {
    const float* const sums = r.sums + i * r.sums_pitch;
    __m512i addend = _mm512_setzero_si512();
    if (r.addend != nullptr) addend = _mm512_maskz_loadu_epi16(mask, r.addend + i * r.addend_pitch);
    const __m512 first = Result(r, low, _mm512_loadu_ps(sums), _mm512_castsi512_si256(addend));
    __m512 second = _mm512_setzero_ps();
    if (r.channels > 16) {
      second = Result(r, high, _mm512_loadu_ps(sums + 16), _mm512_extracti64x4_epi64(addend, 1));
    }
    _mm512_mask_storeu_epi16(r.out + i * r.out_pitch, mask,
                             (__m512i)_mm512_cvtne2ps_pbh(second, first));
  }
}
#else
void WriteBackInVectors(const RowsOfResults& r) { WriteBackPlainly(r); }
#endif

}  // namespace dtnn::tile
