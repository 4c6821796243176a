#include "optim/schedulers/reduce_lr_on_plateau.h"

#include <limits>

#include "gtest/gtest.h"
#include "optim/schedulers/testing/recording_host.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RecordingHost;

void RunEpochs(ReduceLrOnPlateau& scheduler, RecordingHost& host,
               const std::vector<double>& values) {
  for (const double value : values) {
    ASSERT_EQ(host.EndEpoch(scheduler, value), absl::OkStatus());
  }
}

TEST(ReduceLrOnPlateauTest, PrintsAHundredthThenAThousandthFromATenth) {
  RecordingHost host;
  ReduceLrOnPlateau scheduler({.factor = 0.1, .patience = 5});
  RunEpochs(scheduler, host, {.5, .6, .6, .6, .6});
  EXPECT_EQ(host.rate, 0.1);
  RunEpochs(scheduler, host, {.6, .6, .6, .6, .6});
  EXPECT_NEAR(host.rate, 0.01, 1e-17);
  RunEpochs(scheduler, host, {.6});
  EXPECT_NEAR(host.rate, 0.001, 1e-17);
  EXPECT_EQ(host.lines,
            (std::vector<std::string>{
                "LRScheduler ReduceLROnPlateau: metric val_categorical_cross_entropy did not "
                "improve for 5 epochs, setting learning rate to 0.01000000",
                "LRScheduler ReduceLROnPlateau: metric val_categorical_cross_entropy did not "
                "improve for 5 epochs, setting learning rate to 0.00100000"}));
}

TEST(ReduceLrOnPlateauTest, TheBestValueOutlivesAReduction) {
  RecordingHost host;
  ReduceLrOnPlateau scheduler({.factor = 0.5, .patience = 2});
  // Epoch 3 reduces; .55 is better than .6 but not than the best, so epoch 5 reduces again.
  RunEpochs(scheduler, host, {.5, .6, .6, .55, .55});
  EXPECT_EQ(host.rate, 0.025);
}

TEST(ReduceLrOnPlateauTest, StepsBelowTheMinimumAreSkippedNotClamped) {
  RecordingHost host;
  host.rate = 0.01;
  ReduceLrOnPlateau scheduler({.factor = 0.5, .patience = 1, .min_lr = 0.001});
  RunEpochs(scheduler, host, std::vector<double>(20, .5));
  EXPECT_EQ(host.rate, 0.00125);
  EXPECT_EQ(host.lines.size(), 3u);
}

TEST(ReduceLrOnPlateauTest, ReachesAMinimumThatRoundingFallsShortOf) {
  RecordingHost host;
  host.rate = 0.7;
  ReduceLrOnPlateau scheduler({.factor = 0.1, .patience = 1, .min_lr = 0.07});
  RunEpochs(scheduler, host, {.5, .5});
  EXPECT_NEAR(host.rate, 0.07, 1e-16);
}

TEST(ReduceLrOnPlateauTest, LargerCanBeBetter) {
  RecordingHost host;
  ReduceLrOnPlateau scheduler({.metric = "val_f1_score", .better = Better::kLarger, .patience = 1});
  RunEpochs(scheduler, host, {.5, .6, .7});
  EXPECT_EQ(host.rate, 0.1);
  RunEpochs(scheduler, host, {.7});
  EXPECT_NEAR(host.rate, 0.01, 1e-17);
}

TEST(ReduceLrOnPlateauTest, NanIsNoImprovement) {
  RecordingHost host;
  ReduceLrOnPlateau scheduler({.patience = 2});
  RunEpochs(scheduler, host, std::vector<double>(2, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NEAR(host.rate, 0.01, 1e-17);
}

TEST(ReduceLrOnPlateauTest, GoesOnFromItsState) {
  RecordingHost host;
  ReduceLrOnPlateau first({.patience = 2}), second({.patience = 2});
  RunEpochs(first, host, {.6, .5, .6});
  EXPECT_EQ(first.State(), (std::vector<double>{.5, 2}));
  ASSERT_EQ(second.Restore(first.State()), absl::OkStatus());
  EXPECT_EQ(second.State(), first.State());
  RunEpochs(second, host, {.6});
  EXPECT_NEAR(host.rate, 0.01, 1e-17);
  EXPECT_EQ(second.State(), (std::vector<double>{.5, 4}));
  EXPECT_FALSE(second.Restore(std::vector<double>{0, 1e300}).ok());
}

}  // namespace
}  // namespace dtnn
