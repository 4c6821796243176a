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
// `count` lanes; fewer than all only where there are masks.
template <bool kAll, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Load(D d, const T* from, int64_t count) {
  if constexpr (kAll) return hn::LoadU(d, from);
  return hn::MaskedLoad(hn::FirstN(d, size_t(count)), d, from);
}
template <bool kAll, class D, class T = hn::TFromD<D>>
HWY_INLINE void Store(hn::Vec<D> value, D d, T* to, int64_t count) {
  if constexpr (kAll) {
    hn::StoreU(value, d, to);
  } else {
    hn::BlendedStore(value, hn::FirstN(d, size_t(count)), d, to);
  }
}

// Numbers in [0, 255] as bytes. A sum with 2^23 has no bits for fractions.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint8_t, D>> Bytes(D d, hn::Vec<D> value) {
  const auto sum = hn::Add(value, hn::Set(d, 8388608.0f));
#if HWY_TARGET <= HWY_AVX3
  return hn::Vec<hn::Rebind<uint8_t, D>>{_mm512_cvtepi32_epi8(_mm512_castps_si512(sum.raw))};
#else
  const hn::RebindToUnsigned<D> integers;
  return hn::U8FromU32(hn::And(hn::BitCast(integers, sum), hn::Set(integers, 255)));
#endif
}

// `count` filters from `j` on: a vector of them, or what is left.
template <bool kFloats, bool kAdd, bool kAll>
void WriteVector(const ResultRule& rule, const ResultRows& r, int64_t j, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto high = hn::Set(d, 255.0f), addend_multiplier = hn::Set(d, rule.addend_multiplier);
  // Float32 results without a rectifier: none is too low.
  const auto low = hn::Set(d, !kFloats       ? rule.low
                              : rule.rectify ? 0.0f
                                             : -std::numeric_limits<float>::infinity());
  const auto compensation = Load<kAll>(integers, rule.compensation + j, count);
  const auto multiplier = Load<kAll>(d, rule.multiplier + j, count);
  const auto offset = Load<kAll>(d, rule.offset + j, count);
  for (int64_t i = 0; i < r.rows; ++i) {
    const auto sum =
        hn::Add(Load<kAll>(integers, r.sums + i * r.sums_pitch + j, count), compensation);
    auto value = hn::MulAdd(hn::ConvertTo(d, sum), multiplier, offset);
    if constexpr (kAdd) {
      const auto addend = Load<kAll>(bytes, r.addend + i * r.addend_pitch + j, count);
      value =
          hn::MulAdd(hn::ConvertTo(d, hn::PromoteTo(integers, addend)), addend_multiplier, value);
    }
    value = hn::Max(value, low);
    std::byte* const to = r.results + i * r.results_pitch;
    if constexpr (kFloats) {
      Store<kAll>(value, d, reinterpret_cast<float*>(to) + j, count);
    } else {
      Store<kAll>(Bytes(d, hn::Min(value, high)), bytes, reinterpret_cast<uint8_t*>(to) + j, count);
    }
  }
}

template <bool kFloats, bool kAdd>
int64_t WriteVectors(const ResultRule& rule, const ResultRows& r) {
  const auto lanes = int64_t(hn::Lanes(hn::ScalableTag<float>()));
  int64_t j = 0;
  for (; j + lanes <= r.filters; j += lanes) WriteVector<kFloats, kAdd, true>(rule, r, j, lanes);
#if HWY_TARGET <= HWY_AVX3
  if (j < r.filters) WriteVector<kFloats, kAdd, false>(rule, r, j, r.filters - j);
  j = r.filters;
#endif
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
