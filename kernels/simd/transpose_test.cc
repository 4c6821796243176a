#include <array>

#include "gtest/gtest.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/transpose_test.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// In place. False where there are no vectors.
bool Transpose([[maybe_unused]] float* block) {
#if HWY_TARGET == HWY_SCALAR
  return false;
#else
  const hn::FixedTag<float, 4> d;
  auto a = hn::LoadU(d, block), b = hn::LoadU(d, block + 4);
  auto c = hn::LoadU(d, block + 8), e = hn::LoadU(d, block + 12);
  Transpose4(d, a, b, c, e);
  hn::StoreU(a, d, block);
  hn::StoreU(b, d, block + 4);
  hn::StoreU(c, d, block + 8);
  hn::StoreU(e, d, block + 12);
  return true;
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(Transpose);

TEST(TransposeTest, RowsBecomeColumns) {
  std::array<float, 16> block = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  if (!HWY_DYNAMIC_DISPATCH(Transpose)(block.data())) GTEST_SKIP() << "no vectors";
  EXPECT_EQ(block, (std::array<float, 16>{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}));
}

}  // namespace
}  // namespace dtnn
#endif  // HWY_ONCE
