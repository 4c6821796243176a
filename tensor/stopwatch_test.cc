#include "tensor/stopwatch.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(StopwatchTest, TimesThatFollowEachOtherAddUp) {
  const Stopwatch whole;
  double parts = 0;
  for (int i = 0; i < 3; ++i) {
    const double before = parts;
    {
      const AddTime part(parts);
      const Stopwatch some;
      while (some.seconds() < 1e-4) continue;
      EXPECT_EQ(parts, before) << "before it ends";
    }
    EXPECT_GE(parts, before + 1e-4);
  }
  EXPECT_LE(parts, whole.seconds());
}

}  // namespace
}  // namespace dtnn
