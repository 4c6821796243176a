#include "optim/schedulers/stop_at_loss.h"

#include <limits>

#include "gtest/gtest.h"
#include "optim/schedulers/testing/recording_host.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RecordingHost;

bool StopsAt(StopAtLoss scheduler, double value) {
  RecordingHost host;
  EXPECT_EQ(host.EndEpoch(scheduler, value), absl::OkStatus());
  EXPECT_EQ(host.lines.size(), host.stopped ? 1u : 0u);
  return host.stopped;
}

TEST(StopAtLossTest, AccuraciesStopAboveTheThreshold) {
  const StopAtLoss scheduler({.metric = "val_categorical_accuracy", .threshold = 90});
  EXPECT_FALSE(StopsAt(scheduler, 89));
  EXPECT_FALSE(StopsAt(scheduler, 90));
  EXPECT_TRUE(StopsAt(scheduler, 90.01));
}

TEST(StopAtLossTest, LossesStopBelowTheThreshold) {
  const StopAtLoss scheduler(
      {.metric = "categorical_cross_entropy", .better = Better::kSmaller, .threshold = 0.25});
  EXPECT_FALSE(StopsAt(scheduler, 0.3));
  EXPECT_FALSE(StopsAt(scheduler, 0.25));
  EXPECT_TRUE(StopsAt(scheduler, 0.2));
}

TEST(StopAtLossTest, NanReachesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(StopsAt(StopAtLoss(), nan));
  EXPECT_FALSE(
      StopsAt(StopAtLoss({.metric = "mse", .better = Better::kSmaller, .threshold = 1}), nan));
}

TEST(StopAtLossTest, SaysWhatItReached) {
  RecordingHost host;
  StopAtLoss scheduler({.metric = "val_mse", .better = Better::kSmaller, .threshold = 0.5});
  ASSERT_EQ(host.EndEpoch(scheduler, 0.1), absl::OkStatus());
  ASSERT_EQ(host.lines.size(), 1u);
  EXPECT_EQ(host.lines[0],
            "LRScheduler StopAtLoss: metric val_mse reached threshold value 0.500000, stop "
            "training!");
}

}  // namespace
}  // namespace dtnn
