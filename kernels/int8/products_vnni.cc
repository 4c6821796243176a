// vpdpbusd: 4 products of uint8 and int8, added to an int32, without saturation.

#include <array>
#include <cstring>
#include <utility>

#include "kernels/int8/products.h"
#include "kernels/simd/unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>
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

template <int kCount, int kRows>
__attribute__((target("avx512f,avx512vnni"))) void MultiplyWide(const Products& p) {
  __m512i sums[kCount][kRows];
  DTNN_UNROLL(2)
  for (int j = 0; j < kCount; ++j) {
    DTNN_UNROLL(12)
    for (int i = 0; i < kRows; ++i) sums[j][i] = _mm512_setzero_si512();
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
      _mm512_storeu_si512(p.sums + i * kBlockFilters + j * kPanelFilters, sums[j][i]);
    }
  }
}

template <int kCount, size_t... kFewer>
consteval std::array<void (*)(const Products&), kWideRows> WideOfRows(
    std::index_sequence<kFewer...> /*rows*/) {
  return {MultiplyWide<kCount, int(kFewer) + 1>...};
}
// By panels and rows, less one each.
constexpr std::array<std::array<void (*)(const Products&), kWideRows>, 2> kWide = {
    WideOfRows<1>(std::make_index_sequence<kWideRows>()),
    WideOfRows<2>(std::make_index_sequence<kWideRows>())};

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
      .multiply = [](const Products& p) { kWide[p.panel_count - 1][p.rows - 1](p); },
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
