#include "tensor/rounding.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RoundingTest, RoundsUpUnlessItDivides) {
  EXPECT_EQ(CeilDiv(int64_t{0}, 4), 0);
  EXPECT_EQ(CeilDiv(int64_t{8}, 4), 2);
  EXPECT_EQ(CeilDiv(int64_t{9}, 4), 3);
  EXPECT_EQ(RoundUp(size_t{8}, 8), 8u);
  EXPECT_EQ(RoundUp(size_t{9}, 8), 16u);
}

}  // namespace
}  // namespace dtnn
