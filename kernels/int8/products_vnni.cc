// vpdpbusd: 4 products of uint8 and int8, added to an int32, without saturation.

#include <array>
#include <cstring>
#include <utility>

#include "kernels/int8/products.h"
#include "kernels/simd/unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>
// GCC 12 takes the undefined operands of its own intrinsics for mistakes (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace dtnn::int8 {
#if defined(__x86_64__)
namespace {

inline int32_t QuadAt(const std::byte* from) {
  int32_t quad;
  std::memcpy(&quad, from, sizeof(quad));
  return quad;
}

constexpr int kWideRows = 12, kRows = 6;

enum class To { kSums, kBytes, kBytesWithAddend };

// The sums of a block, from registers to bytes: write_back.h's rule, in its order.
template <To kTo, int kCount, int kRows>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"), always_inline)) inline void
WriteBytes(const __m512i (&sums)[kCount][kRows], const ResultRule& rule, const ResultRows& r) {
  const __m512 low = _mm512_set1_ps(rule.low), scale = _mm512_set1_ps(rule.addend_multiplier);
  DTNN_UNROLL(2)
  for (int j = 0; j < kCount; ++j) {
    const int first = j * kPanelFilters;
    const __m512 multiplier = _mm512_loadu_ps(rule.multiplier + first);
    const __m512 offset = _mm512_loadu_ps(rule.offset + first);
    DTNN_UNROLL(12)
    for (int i = 0; i < kRows; ++i) {
      __m512 value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[j][i]), multiplier, offset);
      if constexpr (kTo == To::kBytesWithAddend) {
        const __m128i addend = _mm_loadu_si128(
            reinterpret_cast<const __m128i*>(r.addend + i * r.addend_pitch + first));
        value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(addend)), scale, value);
      }
      // Above 255, and where the conversion overflows, bytes are 255.
      const __m128i bytes = _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(_mm512_max_ps(value, low)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(r.results + i * r.results_pitch + first), bytes);
    }
  }
}

template <int kCount, int kRows, To kTo>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void MultiplyWide(
    const Products& p, const ResultRule* rule, const ResultRows* results) {
  __m512i sums[kCount][kRows];
  DTNN_UNROLL(2)
  for (int j = 0; j < kCount; ++j) {
    const __m512i begin = kTo == To::kSums
                              ? _mm512_setzero_si512()
                              : _mm512_loadu_si512(rule->compensation + j * kPanelFilters);
    DTNN_UNROLL(12)
    for (int i = 0; i < kRows; ++i) sums[j][i] = begin;
  }
  const int64_t step = p.pixel_step;
  for (const Step* at = p.steps; at != p.steps + p.step_count; ++at) {
    const std::byte* quad = p.pixels + at->pixel;
    const std::byte* panel = p.panels + at->panel;
    const std::byte* const end = quad + p.depth;
    for (; quad != end; quad += kQuadBytes, panel += kPanelFilters * kQuadBytes) {
      __m512i filters[kCount];
      DTNN_UNROLL(2)
      for (int j = 0; j < kCount; ++j) {
        filters[j] = _mm512_loadu_si512(panel + j * p.panel_bytes);
      }
      DTNN_UNROLL(12)
      for (int i = 0; i < kRows; ++i) {
        const __m512i pixel = _mm512_set1_epi32(QuadAt(quad + i * step));
        DTNN_UNROLL(2)
        for (int j = 0; j < kCount; ++j) {
          sums[j][i] = _mm512_dpbusd_epi32(sums[j][i], pixel, filters[j]);
        }
      }
    }
  }
  DTNN_UNROLL(2)
  for (int j = 0; j < kCount; ++j) {
    DTNN_UNROLL(12)
    for (int i = 0; i < kRows; ++i) {
      if constexpr (kTo == To::kSums) {
        _mm512_storeu_si512(p.sums + i * kBlockFilters + j * kPanelFilters, sums[j][i]);
      } else {
        // GCC 12 would copy sums in every turn of the loops above, and spill them.
        asm volatile("" : "+v"(sums[j][i]));
      }
    }
  }
  if constexpr (kTo != To::kSums) WriteBytes<kTo>(sums, *rule, *results);
}

using Wide = void (*)(const Products&, const ResultRule*, const ResultRows*);
template <int kCount, To kTo, size_t... kFewer>
consteval std::array<Wide, kWideRows> WideOfRows(std::index_sequence<kFewer...> /*rows*/) {
  return {MultiplyWide<kCount, int(kFewer) + 1, kTo>...};
}
// By panels and rows, less one each.
template <To kTo>
constexpr std::array<std::array<Wide, kWideRows>, 2> kWide = {
    WideOfRows<1, kTo>(std::make_index_sequence<kWideRows>()),
    WideOfRows<2, kTo>(std::make_index_sequence<kWideRows>())};

// A panel at a time: 16 registers.
__attribute__((target("avx2,avxvnni"))) void MultiplyPanel(const Products& p,
                                                           const std::byte* panel, int32_t* to) {
  __m256i sums[2][kRows];
  DTNN_UNROLL(2)
  for (int j = 0; j < 2; ++j) {
    DTNN_UNROLL(6)
    for (int i = 0; i < kRows; ++i) sums[j][i] = _mm256_setzero_si256();
  }
  const int64_t step = p.pixel_step;
  for (const Step* at = p.steps; at != p.steps + p.step_count; ++at) {
    const std::byte* quad = p.pixels + at->pixel;
    const std::byte* filters = panel + at->panel;
    const std::byte* const end = quad + p.depth;
    for (; quad != end; quad += kQuadBytes, filters += kPanelFilters * kQuadBytes) {
      const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(filters));
      const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(filters + 32));
      DTNN_UNROLL(6)
      for (int i = 0; i < kRows; ++i) {
        const __m256i pixel = _mm256_set1_epi32(QuadAt(quad + i * step));
        sums[0][i] = _mm256_dpbusd_avx_epi32(sums[0][i], pixel, low);
        sums[1][i] = _mm256_dpbusd_avx_epi32(sums[1][i], pixel, high);
      }
    }
  }
  DTNN_UNROLL(2)
  for (int j = 0; j < 2; ++j) {
    DTNN_UNROLL(6)
    for (int i = 0; i < kRows; ++i) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * kBlockFilters + 8 * j), sums[j][i]);
    }
  }
}

void Nothing(int) {}
void Nothing() {}

}  // namespace

const ProductKernel& Avx512VnniProducts() {
  static constexpr ProductKernel kKernel = {
      .rows = kWideRows,
      .fewer_rows = true,
      .begin = Nothing,
      .multiply =
          [](const Products& p) {
            kWide<To::kSums>[p.panel_count - 1][p.rows - 1](p, nullptr, nullptr);
          },
      .multiply_to =
          [](const Products& p, const ResultRule& rule, const ResultRows& results) {
            const auto& kinds =
                results.addend == nullptr ? kWide<To::kBytes> : kWide<To::kBytesWithAddend>;
            kinds[p.panel_count - 1][p.rows - 1](p, &rule, &results);
          },
      .end = Nothing};
  return kKernel;
}

const ProductKernel& AvxVnniProducts() {
  static constexpr ProductKernel kKernel = {.rows = kRows,
                                            .begin = Nothing,
                                            .multiply =
                                                [](const Products& p) {
                                                  for (int j = 0; j < p.panel_count; ++j) {
                                                    MultiplyPanel(p, p.panels + j * p.panel_bytes,
                                                                  p.sums + j * kPanelFilters);
                                                  }
                                                },
                                            .end = Nothing};
  return kKernel;
}
#else
const ProductKernel& Avx512VnniProducts() { return VectorProducts(); }
const ProductKernel& AvxVnniProducts() { return VectorProducts(); }
#endif

}  // namespace dtnn::int8
