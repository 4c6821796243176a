// Pairs of int16 (vpmaddwd): exact, where products of bytes would saturate (vpmaddubsw).

#include <cstring>

#include "kernels/int8/products.h"
#include "kernels/simd/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/int8/products_vectors.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::int8 {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX2
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 5;

void MultiplyPanel(const Products& p, const std::byte* panel, int32_t* to) {
  const hn::CappedTag<int32_t, kPanelFilters> d;
  const hn::Repartition<int16_t, decltype(d)> halves;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = int(hn::MaxLanes(d)), kVectors = kPanelFilters / kLanes;
  V sums[kVectors][kRows];
  DTNN_UNROLL(4)
  for (int j = 0; j < kVectors; ++j) {
    DTNN_UNROLL(12)
    for (int i = 0; i < kRows; ++i) sums[j][i] = hn::Zero(d);
  }
  const int64_t step = p.pixel_step;
  for (const Step* at = p.steps; at != p.steps + p.step_count; ++at) {
    const std::byte* quad = p.pixels + at->pixel;
    const std::byte* quads = panel + at->panel;
    const std::byte* const end = quad + p.depth;
    for (; quad != end; quad += kQuadBytes, quads += kPanelFilters * kQuadBytes) {
      const auto* const pairs = reinterpret_cast<const int16_t*>(quads);
      hn::Vec<decltype(halves)> filters[kVectors];
      DTNN_UNROLL(4)
      for (int j = 0; j < kVectors; ++j) filters[j] = hn::LoadU(halves, pairs + 2 * kLanes * j);
      DTNN_UNROLL(12)
      for (int i = 0; i < kRows; ++i) {
        int32_t pair;
        std::memcpy(&pair, quad + i * step, sizeof(pair));
        const auto pixel = hn::BitCast(halves, hn::Set(d, pair));
        DTNN_UNROLL(4)
        for (int j = 0; j < kVectors; ++j) {
          V unused = hn::Zero(d);
          sums[j][i] = hn::ReorderWidenMulAccumulate(d, pixel, filters[j], sums[j][i], unused);
        }
      }
    }
  }
  DTNN_UNROLL(4)
  for (int j = 0; j < kVectors; ++j) {
    DTNN_UNROLL(12)
    for (int i = 0; i < kRows; ++i) {
      hn::StoreU(sums[j][i], d, to + i * kBlockFilters + kLanes * j);
    }
  }
}
#else
constexpr int kRows = 4;

int32_t ProductOfPairs(const std::byte* a, const std::byte* b) {
  int16_t x[2], y[2];
  std::memcpy(x, a, sizeof(x));
  std::memcpy(y, b, sizeof(y));
  return int32_t{x[0]} * y[0] + int32_t{x[1]} * y[1];
}

void MultiplyPanel(const Products& p, const std::byte* panel, int32_t* to) {
  for (int i = 0; i < kRows; ++i) {
    int32_t* const sums = to + i * kBlockFilters;
    std::memset(sums, 0, kPanelFilters * sizeof(int32_t));
    for (const Step* at = p.steps; at != p.steps + p.step_count; ++at) {
      const std::byte* const pixel = p.pixels + i * p.pixel_step + at->pixel;
      const std::byte* quads = panel + at->panel;
      for (int quad = 0; quad < p.depth; quad += kQuadBytes, quads += kPanelFilters * kQuadBytes) {
        for (int j = 0; j < kPanelFilters; ++j) {
          // What lies beyond the pixels may be any number: sums that nobody reads wrap around.
          sums[j] = int32_t(uint32_t(sums[j]) +
                            uint32_t(ProductOfPairs(pixel + quad, quads + j * kQuadBytes)));
        }
      }
    }
  }
}
#endif

void Multiply(const Products& p) {
  for (int j = 0; j < p.panel_count; ++j) {
    MultiplyPanel(p, p.panels + j * p.panel_bytes, p.sums + j * kPanelFilters);
  }
}

const ProductKernel* Kernel() {
  static constexpr ProductKernel kKernel = {
      .rows = kRows, .element_bytes = 2, .begin = [](int) {}, .multiply = Multiply, .end = [] {}};
  return &kKernel;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::int8
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::int8 {
namespace {
HWY_EXPORT(Kernel);
}  // namespace

const ProductKernel& VectorProducts() { return *HWY_DYNAMIC_DISPATCH(Kernel)(); }

}  // namespace dtnn::int8
#endif  // HWY_ONCE
