#include "kernels/cast/bfloat16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cast/bfloat16.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;

// Bfloat16 is a uint16_t with a name.
const uint16_t* Bits(const Bfloat16* values) { return reinterpret_cast<const uint16_t*>(values); }
uint16_t* Bits(Bfloat16* values) { return reinterpret_cast<uint16_t*>(values); }
static_assert(sizeof(Bfloat16) == sizeof(uint16_t));

void WidenAll(const Bfloat16* from, int64_t count, float* to) {
  const D d;
  const hn::Rebind<uint16_t, D> halves;
  const hn::RebindToUnsigned<D> words;
  const auto lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::PromoteTo(words, hn::LoadU(halves, Bits(from + i)));
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(bits)), d, to + i);
  }
  for (; i < count; ++i) to[i] = float(from[i]);
}

void RoundAll(const float* from, int64_t count, Bfloat16* to) {
  const D d;
  const hn::Rebind<uint16_t, D> halves;
  const hn::RebindToUnsigned<D> words;
  const hn::RebindToSigned<D> integers;
  const auto lanes = int64_t(hn::Lanes(d));
  const auto half = hn::Set(words, 0x7fff), one = hn::Set(words, 1), quiet = hn::Set(words, 0x40);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, from + i);
    const auto bits = hn::BitCast(words, value), upper = hn::ShiftRight<16>(bits);
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(half, hn::And(upper, one))));
    const auto nan = hn::RebindMask(words, hn::IsNaN(value));
    const auto result = hn::IfThenElse(nan, hn::Or(upper, quiet), rounded);
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(integers, result)), halves, Bits(to + i));
  }
  for (; i < count; ++i) to[i] = Bfloat16(from[i]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {
HWY_EXPORT(WidenAll);
HWY_EXPORT(RoundAll);
}  // namespace

void Widen(const Bfloat16* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenAll)(from, count, to);
}
void Round(const float* from, int64_t count, Bfloat16* to) {
  HWY_DYNAMIC_DISPATCH(RoundAll)(from, count, to);
}

}  // namespace dtnn
#endif  // HWY_ONCE
