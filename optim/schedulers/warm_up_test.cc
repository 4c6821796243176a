#include "optim/schedulers/warm_up.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

double FactorAt(const WarmUp& warm_up, int64_t step) {
  return warm_up.Factor({.step = step, .steps_per_epoch = 10, .total_steps = 100});
}

TEST(WarmUpTest, RampsOverEpochsAndReachesTheRateInItsLastStep) {
  const WarmUp warm_up({.epochs = 2});
  EXPECT_EQ(FactorAt(warm_up, 0), 0.05);
  EXPECT_EQ(FactorAt(warm_up, 9), 0.5);
  EXPECT_EQ(FactorAt(warm_up, 18), 0.95);
  for (const int64_t step : {19, 20, 21, 99, 1000}) EXPECT_EQ(FactorAt(warm_up, step), 1) << step;
}

TEST(WarmUpTest, BatchesWinOverEpochs) {
  const WarmUp warm_up({.batches = 4, .epochs = 2});
  EXPECT_EQ(FactorAt(warm_up, 0), 0.25);
  EXPECT_EQ(FactorAt(warm_up, 2), 0.75);
  EXPECT_EQ(FactorAt(warm_up, 3), 1);
}

TEST(WarmUpTest, NoEpochsAreNoRamp) {
  EXPECT_EQ(FactorAt(WarmUp({.epochs = 0}), 0), 1);
  EXPECT_EQ(WarmUp({.epochs = 5}).Factor({.step = 0, .steps_per_epoch = 0}), 1);
}

}  // namespace
}  // namespace dtnn
