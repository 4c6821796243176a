#include "optim/schedulers/scheduler.h"

#include <cmath>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

class Watcher : public Scheduler {
 public:
  std::string_view name() const override { return "watcher"; }
  std::string_view watched() const override { return "val_mse"; }
};

TEST(SchedulerTest, ValuesAreFoundByTheirWholeName) {
  const EpochMetrics metrics = {.epoch = 1, .values = {{"mse", 2}, {"val_mse", 3}}};
  EXPECT_EQ(metrics.Find("val_mse"), 3);
  EXPECT_EQ(metrics.Find("val"), std::nullopt);
  EXPECT_EQ(*WatchedValue(Watcher(), metrics), 3);
}

TEST(SchedulerTest, AMissingValueIsNamedWithThoseThatThereAre) {
  const auto value = WatchedValue(Watcher(), {.epoch = 1, .values = {{"mae", 1}, {"mse", 2}}});
  EXPECT_EQ(value.status().message(),
            "scheduler watcher watches \"val_mse\", which is not computed in this run; available: "
            "mae mse");
}

TEST(SchedulerTest, WithoutStateOnlyTheEmptyStateIsRestored) {
  Watcher watcher;
  EXPECT_EQ(watcher.Restore({}), absl::OkStatus());
  const double state[] = {1};
  EXPECT_EQ(watcher.Restore(state).message(),
            "scheduler watcher: its saved state has 1 values, expected 0; was it written by "
            "another version?");
  EXPECT_EQ(watcher.Factor({.step = 3}), 1);
}

TEST(SchedulerTest, OnlyWholeNumbersAreNumbersOfEpochs) {
  EXPECT_EQ(*EpochsInState(Watcher(), 0), 0);
  EXPECT_EQ(*EpochsInState(Watcher(), 12345), 12345);
  for (const double value : {-1.0, 0.5, 1e300, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(EpochsInState(Watcher(), value).ok()) << value;
  }
}

}  // namespace
}  // namespace dtnn
