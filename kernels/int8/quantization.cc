#include "kernels/int8/quantization.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/int8/quantization.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

bool QuantizeAll(const float* from, int64_t count, float inverse, float zero, uint8_t* to) {
  int64_t i = 0;
  bool numbers = true;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = int64_t(hn::Lanes(d));
  const auto factor = hn::Set(d, inverse), offset = hn::Set(d, zero), high = hn::Set(d, 255.0f);
  auto numeric = hn::Eq(offset, offset);
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, from + i);
    numeric = hn::And(numeric, hn::Eq(value, value));
    const auto q = hn::Min(hn::Max(hn::MulAdd(value, factor, offset), hn::Zero(d)), high);
    hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(q)), bytes, to + i);
  }
  numbers = hn::AllTrue(d, numeric);
#endif
  for (; i < count; ++i) {
    numbers &= from[i] == from[i];
    const float q = std::min(std::max(std::fma(from[i], inverse, zero), 0.0f), 255.0f);
    to[i] = uint8_t(std::nearbyint(q));
  }
  return numbers;
}

void DequantizeAll(const uint8_t* from, int64_t count, float scale, int32_t zero_point, float* to) {
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = int64_t(hn::Lanes(d));
  const auto zero = hn::Set(integers, zero_point);
  const auto factor = hn::Set(d, scale);
  for (; i + lanes <= count; i += lanes) {
    const auto q = hn::Sub(hn::PromoteTo(integers, hn::LoadU(bytes, from + i)), zero);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, q), factor), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = float(int32_t(from[i]) - zero_point) * scale;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {
HWY_EXPORT(QuantizeAll);
HWY_EXPORT(DequantizeAll);
}  // namespace

Quantization Quantization::OfRange(double low, double high) {
  assert(low <= high);
  // So that scale and its inverse are normal numbers, and what bytes stand for is finite: up to
  // half a step more than the bounds.
  constexpr double kMost = 3.3e38, kLeastWidth = 1e-30;
  low = std::clamp(low, -kMost, 0.0);
  high = std::clamp(high, 0.0, kMost);
  const double width = std::max(high - low, kLeastWidth);
  if (high == low) return {.scale = 1.0f / 255, .zero_point = 0};
  const auto scale = float(width / 255);
  return {.scale = scale,
          .zero_point = int32_t(std::clamp(std::nearbyint(-low / double(scale)), 0.0, 255.0))};
}

bool Quantize(const float* from, int64_t count, const Quantization& q, uint8_t* to) {
  return HWY_DYNAMIC_DISPATCH(QuantizeAll)(from, count, 1 / q.scale, float(q.zero_point), to);
}

void Dequantize(const uint8_t* from, int64_t count, const Quantization& q, float* to) {
  HWY_DYNAMIC_DISPATCH(DequantizeAll)(from, count, q.scale, q.zero_point, to);
}

}  // namespace dtnn
#endif  // HWY_ONCE
