#include "optim/schedulers/one_cycle.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

ScheduleStep At(int64_t step) { return {.step = step, .steps_per_epoch = 10, .total_steps = 101}; }

TEST(OneCycleTest, RisesToTheMaximumAndFallsBelowItsStart) {
  const OneCycle cycle;
  EXPECT_NEAR(cycle.Factor(At(0)), 0.04, 1e-15);
  EXPECT_NEAR(cycle.Factor(At(15)), 0.52, 1e-15);
  EXPECT_EQ(cycle.Factor(At(30)), 1);
  EXPECT_NEAR(cycle.Factor(At(65)), (1 + 4e-6) / 2, 1e-15);
  EXPECT_NEAR(cycle.Factor(At(100)), 4e-6, 1e-20);
  for (int64_t step = 1; step <= 100; ++step) {
    const bool rises = cycle.Factor(At(step)) > cycle.Factor(At(step - 1));
    EXPECT_EQ(rises, step <= 30) << step;
  }
}

TEST(OneCycleTest, TheShareOfTheRiseAndBothEndsAreOptions) {
  const OneCycle fall({.rise = 0, .end = 0.5});
  EXPECT_EQ(fall.Factor(At(0)), 1);
  EXPECT_EQ(fall.Factor(At(100)), 0.5);
  const OneCycle rise({.rise = 1, .start = 0.5, .end = 0.25});
  EXPECT_EQ(rise.Factor(At(50)), 0.75);
  EXPECT_EQ(rise.Factor(At(100)), 0.25);
}

TEST(OneCycleTest, ShortRunsStayFinite) {
  for (const int64_t total : {0, 1, 2, 3}) {
    for (int64_t step = 0; step < 4; ++step) {
      const double factor = OneCycle().Factor({.step = step, .total_steps = total});
      EXPECT_TRUE(factor > 0 && factor <= 1) << step << " of " << total;
    }
  }
}

}  // namespace
}  // namespace dtnn
