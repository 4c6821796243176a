#include "kernels/int8/write_back.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/int8/write_back.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::int8 {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Filter j of a row.
float Result(const ResultRule& rule, const int32_t* sums, const uint8_t* addend, int64_t j) {
  float value = std::fma(float(sums[j] + rule.compensation[j]), rule.multiplier[j], rule.offset[j]);
  if (addend != nullptr) value = std::fma(float(addend[j]), rule.addend_multiplier, value);
  if (rule.floats) return rule.rectify ? std::max(value, 0.0f) : value;
  return std::min(std::max(value, rule.low), 255.0f);
}

// Filters from `begin` on, one at a time.
template <bool kFloats>
void WriteRest(const ResultRule& rule, const ResultRows& r, int64_t begin) {
  for (int64_t i = 0; i < r.rows; ++i) {
    const uint8_t* const addend = r.addend == nullptr ? nullptr : r.addend + i * r.addend_pitch;
    std::byte* const to = r.results + i * r.results_pitch;
    for (int64_t j = begin; j < r.filters; ++j) {
      const float value = Result(rule, r.sums + i * r.sums_pitch, addend, j);
      if constexpr (kFloats) {
        reinterpret_cast<float*>(to)[j] = value;
      } else {
        to[j] = std::byte(std::nearbyint(value));
      }
    }
  }
}

#if HWY_TARGET <= HWY_AVX2
// Numbers in [0, 255]. A sum with 2^23 has no bits for fractions.
template <class D>
HWY_INLINE void StoreBytes(D d, hn::Vec<D> value, std::byte* to) {
  const auto sum = hn::Add(value, hn::Set(d, 8388608.0f));
#if HWY_TARGET <= HWY_AVX3
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm512_cvtepi32_epi8(_mm512_castps_si512(sum.raw)));
#else
  const hn::RebindToUnsigned<D> integers;
  const hn::Rebind<uint8_t, D> bytes;
  const auto low = hn::And(hn::BitCast(integers, sum), hn::Set(integers, 255));
  hn::StoreU(hn::U8FromU32(low), bytes, reinterpret_cast<uint8_t*>(to));
#endif
}

template <bool kFloats, bool kAdd>
int64_t WriteVectors(const ResultRule& rule, const ResultRows& r) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = int64_t(hn::Lanes(d));
  const auto high = hn::Set(d, 255.0f), addend_multiplier = hn::Set(d, rule.addend_multiplier);
  // Float32 results without a rectifier: none is too low.
  const auto low = hn::Set(d, !kFloats       ? rule.low
                              : rule.rectify ? 0.0f
                                             : -std::numeric_limits<float>::infinity());
  int64_t j = 0;
  for (; j + lanes <= r.filters; j += lanes) {
    const auto compensation = hn::LoadU(integers, rule.compensation + j);
    const auto multiplier = hn::LoadU(d, rule.multiplier + j);
    const auto offset = hn::LoadU(d, rule.offset + j);
    for (int64_t i = 0; i < r.rows; ++i) {
      const auto sum = hn::Add(hn::LoadU(integers, r.sums + i * r.sums_pitch + j), compensation);
      auto value = hn::MulAdd(hn::ConvertTo(d, sum), multiplier, offset);
      if constexpr (kAdd) {
        const auto addend = hn::LoadU(bytes, r.addend + i * r.addend_pitch + j);
        value =
            hn::MulAdd(hn::ConvertTo(d, hn::PromoteTo(integers, addend)), addend_multiplier, value);
      }
      value = hn::Max(value, low);
      std::byte* const to = r.results + i * r.results_pitch;
      if constexpr (kFloats) {
        hn::StoreU(value, d, reinterpret_cast<float*>(to) + j);
      } else {
        StoreBytes(d, hn::Min(value, high), to + j);
      }
    }
  }
  return j;
}
#endif

template <bool kFloats>
void Write(const ResultRule& rule, const ResultRows& r) {
  int64_t done = 0;
#if HWY_TARGET <= HWY_AVX2
  done = r.addend == nullptr ? WriteVectors<kFloats, false>(rule, r)
                             : WriteVectors<kFloats, true>(rule, r);
#endif
  if (done < r.filters) WriteRest<kFloats>(rule, r, done);
}

void WriteAll(const ResultRule& rule, const ResultRows& rows) {
  rule.floats ? Write<true>(rule, rows) : Write<false>(rule, rows);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::int8
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::int8 {
namespace {
HWY_EXPORT(WriteAll);
}  // namespace

void WriteBack(const ResultRule& rule, const ResultRows& rows) {
  HWY_DYNAMIC_DISPATCH(WriteAll)(rule, rows);
}

}  // namespace dtnn::int8
#endif  // HWY_ONCE
