// Memory-bound: per value one byte is read and four or eight are written. All instruction sets give
// the same bits, because an integer below 256 is exact and the product is rounded once.

#include <cassert>
#include <cstddef>

#include "kernels/convert/convert.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/convert_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The bytes of as many lanes as `d` has.
template <class D>
HWY_INLINE auto LoadBytes(D d, const uint8_t* from) {
  const hn::Rebind<uint8_t, D> bytes;
  const hn::Rebind<int32_t, D> integers;
  const auto values = hn::PromoteTo(integers, hn::LoadU(bytes, from));
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::PromoteTo(d, values);
  } else {
    return hn::ConvertTo(d, values);
  }
}

template <typename T>
HWY_INLINE void Convert(const uint8_t* HWY_RESTRICT from, size_t count, T scale,
                        T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    for (size_t i = 0; i < count; ++i) to[i] = T(from[i]) * scale;
    return;
  }
  const auto factor = hn::Set(d, scale);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Mul(LoadBytes(d, from + i), factor), d, to + i);
  }
  // The last vector overlaps the one before: it writes the same values there once more.
  i = count - lanes;
  hn::StoreU(hn::Mul(LoadBytes(d, from + i), factor), d, to + i);
}

void ConvertFloat(const uint8_t* from, size_t count, float scale, float* to) {
  Convert(from, count, scale, to);
}
void ConvertDouble(const uint8_t* from, size_t count, double scale, double* to) {
  Convert(from, count, scale, to);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {
HWY_EXPORT(ConvertFloat);
HWY_EXPORT(ConvertDouble);
}  // namespace

void ConvertBytes(std::span<const uint8_t> from, float scale, std::span<float> to) {
  assert(from.size() == to.size());
  HWY_DYNAMIC_DISPATCH(ConvertFloat)(from.data(), from.size(), scale, to.data());
}

void ConvertBytes(std::span<const uint8_t> from, double scale, std::span<double> to) {
  assert(from.size() == to.size());
  HWY_DYNAMIC_DISPATCH(ConvertDouble)(from.data(), from.size(), scale, to.data());
}

}  // namespace dtnn
#endif  // HWY_ONCE
