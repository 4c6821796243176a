#include "optim/losses/better.h"

#include <limits>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(BetterTest, OnlyWhatIsStrictlyBetterIsAndNanNever) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(IsBetter(Better::kSmaller, 1, 2));
  EXPECT_FALSE(IsBetter(Better::kSmaller, 2, 1));
  EXPECT_TRUE(IsBetter(Better::kLarger, 2, 1));
  EXPECT_FALSE(IsBetter(Better::kLarger, 1, 2));
  for (const Better better : {Better::kSmaller, Better::kLarger}) {
    EXPECT_FALSE(IsBetter(better, 1, 1));
    EXPECT_FALSE(IsBetter(better, kNan, 1));
  }
}

}  // namespace
}  // namespace dtnn
