#include "optim/schedulers/cosine.h"

#include "gtest/gtest.h"
#include "optim/schedulers/warm_up.h"

namespace dtnn {
namespace {

ScheduleStep At(int64_t step) { return {.step = step, .steps_per_epoch = 10, .total_steps = 120}; }

TEST(CosineTest, FallsFromTheWholeRateToItsFloor) {
  const Cosine cosine({.floor = 0.2});
  EXPECT_EQ(cosine.Factor(At(0)), 1);
  EXPECT_NEAR(cosine.Factor(At(40)), 0.2 + 0.8 * 0.75, 1e-15);  // cos(60 degrees) = 1/2
  EXPECT_NEAR(cosine.Factor(At(60)), 0.6, 1e-15);
  EXPECT_NEAR(cosine.Factor(At(80)), 0.2 + 0.8 * 0.25, 1e-15);
  EXPECT_EQ(cosine.Factor(At(120)), 0.2);
  EXPECT_EQ(cosine.Factor(At(1000)), 0.2);
}

TEST(CosineTest, NeverRises) {
  const Cosine cosine;
  for (int64_t step = 1; step <= 120; ++step) {
    EXPECT_LT(cosine.Factor(At(step)), cosine.Factor(At(step - 1))) << step;
  }
  EXPECT_GT(cosine.Factor(At(119)), 0);  // the last step still learns
}

TEST(CosineTest, MultipliesWithAWarmUp) {
  const WarmUp warm_up({.batches = 4});
  const double factor = warm_up.Factor(At(1)) * Cosine().Factor(At(1));
  EXPECT_NEAR(factor, 0.5 * (1 + 0.99965732497555726) / 2, 1e-15);  // cos(1.5 degrees)
}

TEST(CosineTest, RestartsWithTheWholeRate) {
  const Cosine cosine({.floor = 0.2, .restart_epochs = 3});  // cycles of 30 steps
  for (const int64_t begin : {0, 30, 60, 90, 3'000'000}) {
    EXPECT_EQ(cosine.Factor(At(begin)), 1) << begin;
    EXPECT_NEAR(cosine.Factor(At(begin + 10)), 0.2 + 0.8 * 0.75, 1e-9) << begin;
    EXPECT_LT(cosine.Factor(At(begin + 29)), 0.21) << begin;
  }
}

TEST(CosineTest, CyclesGrow) {
  const Cosine cosine({.restart_epochs = 2, .restart_growth = 3});  // 20, 60 and 180 steps
  for (const int64_t begin : {0, 20, 80, 260}) EXPECT_EQ(cosine.Factor(At(begin)), 1) << begin;
  EXPECT_NEAR(cosine.Factor(At(10)), 0.5, 1e-15);
  EXPECT_NEAR(cosine.Factor(At(20 + 30)), 0.5, 1e-15);
  EXPECT_NEAR(cosine.Factor(At(80 + 90)), 0.5, 1e-15);
  EXPECT_LT(cosine.Factor(At(259)), 1e-4);
}

TEST(CosineTest, RestartsNeedNoEndOfTheRun) {
  const Cosine cosine({.restart_epochs = 1});
  EXPECT_NEAR(cosine.Factor({.step = 15, .steps_per_epoch = 10}), 0.5, 1e-15);
  EXPECT_EQ(cosine.Factor({.step = 15}), 1) << "nothing says how long an epoch is";
}

TEST(CosineTest, ARunOfUnknownLengthKeepsItsRate) { EXPECT_EQ(Cosine().Factor({.step = 7}), 1); }

}  // namespace
}  // namespace dtnn
