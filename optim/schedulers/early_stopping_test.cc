#include "optim/schedulers/early_stopping.h"

#include <limits>

#include "gtest/gtest.h"
#include "optim/schedulers/testing/recording_host.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RecordingHost;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// How many of the epochs it lets run.
int64_t EpochsOf(EarlyStopping& scheduler, RecordingHost& host, const std::vector<double>& values) {
  for (const double value : values) {
    EXPECT_EQ(host.EndEpoch(scheduler, value), absl::OkStatus());
    if (host.stopped) break;
  }
  return host.epoch;
}

TEST(EarlyStoppingTest, StopsAfterPatienceAndBringsBackTheBest) {
  RecordingHost host;
  EarlyStopping scheduler({.metric = "val_mse", .patience = 3});
  // An equal value is not an improvement.
  EXPECT_EQ(EpochsOf(scheduler, host, {.5, .4, .45, .4, .41, .1, .1}), 5);
  EXPECT_EQ(host.restored, 2);
  ASSERT_EQ(host.lines.size(), 2u);
  EXPECT_EQ(host.lines[0],
            "LRScheduler EarlyStopping: metric val_mse did not improve for 3 epochs, stop "
            "training!");
  EXPECT_EQ(host.lines[1],
            "LRScheduler EarlyStopping: restored the parameters of epoch 2, which has the best "
            "val_mse");
}

TEST(EarlyStoppingTest, ARunThatEndsBeforeItsPatienceEndsWithTheBestToo) {
  RecordingHost host;
  EarlyStopping scheduler({.metric = "val_mse", .patience = 3});
  EXPECT_EQ(EpochsOf(scheduler, host, {.5, .4, .45}), 3);
  EXPECT_EQ(host.restored, 0) << "the run may have more epochs one day";
  ASSERT_EQ(scheduler.OnRunEnd(3, host), absl::OkStatus());
  EXPECT_EQ(host.restored, 2);
  EXPECT_FALSE(host.stopped);
  ASSERT_EQ(host.lines.size(), 1u);
  EXPECT_EQ(host.lines[0],
            "LRScheduler EarlyStopping: restored the parameters of epoch 2, which has the best "
            "val_mse");
}

TEST(EarlyStoppingTest, TheFirstEpochIsRestoredWhereItIsTheBest) {
  RecordingHost host;
  EarlyStopping ends({.metric = "val_mse", .patience = 3}), stops({.patience = 1});
  EXPECT_EQ(EpochsOf(ends, host, {.4, .5}), 2);
  ASSERT_EQ(ends.OnRunEnd(2, host), absl::OkStatus());
  EXPECT_EQ(host.restored, 1);
  RecordingHost other;
  EXPECT_EQ(EpochsOf(stops, other, {.4, .5}), 2);
  EXPECT_TRUE(other.stopped);
  EXPECT_EQ(other.restored, 1);
}

TEST(EarlyStoppingTest, TheLastEpochIsNotRestoredWhereItIsTheBest) {
  for (const auto& values : {std::vector<double>{.5, .4}, {kNan}, {}}) {
    RecordingHost host;
    EarlyStopping scheduler({.metric = "val_mse", .patience = 3});
    const int64_t epochs = EpochsOf(scheduler, host, values);
    ASSERT_EQ(scheduler.OnRunEnd(epochs, host), absl::OkStatus());
    EXPECT_EQ(host.restored, 0);
    EXPECT_TRUE(host.lines.empty());
  }
}

TEST(EarlyStoppingTest, AnImprovementInTheLastMomentGoesOn) {
  RecordingHost host;
  EarlyStopping scheduler({.patience = 2});
  EXPECT_EQ(EpochsOf(scheduler, host, {.5, .6, .4, .5, .3, .4}), 6);
  EXPECT_FALSE(host.stopped);
  EXPECT_EQ(host.kept, 5);
}

TEST(EarlyStoppingTest, LargerCanBeBetter) {
  RecordingHost host;
  EarlyStopping scheduler(
      {.metric = "val_categorical_accuracy", .better = Better::kLarger, .patience = 1});
  EXPECT_EQ(EpochsOf(scheduler, host, {50, 60, 55}), 3);
  EXPECT_EQ(host.restored, 2);
}

TEST(EarlyStoppingTest, AnImprovementThatIsTooSmallIsNone) {
  RecordingHost host;
  EarlyStopping smaller({.metric = "val_mse", .patience = 2, .min_delta = 0.125});
  // 0.75 is better by exactly min_delta; what is lost by small steps adds up.
  EXPECT_EQ(EpochsOf(smaller, host, {.875, .75, .625, .5, .5, .25}), 5);
  EXPECT_EQ(host.restored, 3);
  RecordingHost other;
  EarlyStopping larger({.metric = "val_categorical_accuracy",
                        .better = Better::kLarger,
                        .patience = 1,
                        .min_delta = 5});
  EXPECT_EQ(EpochsOf(larger, other, {50, 56, 61}), 3);
  EXPECT_EQ(other.restored, 2);
}

TEST(EarlyStoppingTest, NanNeverImproves) {
  RecordingHost host;
  EarlyStopping scheduler({.patience = 2});
  EXPECT_EQ(EpochsOf(scheduler, host, {kNan, kNan, .1}), 2);
  EXPECT_TRUE(host.stopped);
  EXPECT_EQ(host.kept, 0);  // and nothing was brought back
  EXPECT_EQ(host.restored, 0);
}

TEST(EarlyStoppingTest, GoesOnFromItsState) {
  RecordingHost host;
  EarlyStopping first({.patience = 3}), second({.patience = 3});
  EpochsOf(first, host, {.3, .4, .4});
  EXPECT_EQ(first.State(), (std::vector<double>{.3, 1}));
  ASSERT_EQ(second.Restore(first.State()), absl::OkStatus());
  EXPECT_EQ(second.State(), first.State());
  EXPECT_EQ(EpochsOf(second, host, {.35}), 4);
  EXPECT_TRUE(host.stopped);
  EXPECT_FALSE(second.Restore(std::vector<double>{0, 1e300}).ok());
  EXPECT_FALSE(second.Restore({}).ok());
  EarlyStopping untouched, other;
  ASSERT_EQ(other.Restore(untouched.State()), absl::OkStatus());  // infinity and no epoch
  EXPECT_EQ(other.State(), untouched.State());
}

TEST(EarlyStoppingTest, ErrorsOfTheHostAndMissingMetricsComeBack) {
  RecordingHost host;
  host.failure = absl::ResourceExhaustedError("no memory");
  EarlyStopping scheduler;
  EXPECT_EQ(host.EndEpoch(scheduler, .5), host.failure);
  EXPECT_EQ(scheduler.OnEpochEnd({.epoch = 1}, host).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace dtnn
