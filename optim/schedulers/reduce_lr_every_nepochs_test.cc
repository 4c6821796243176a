#include "optim/schedulers/reduce_lr_every_nepochs.h"

#include "gtest/gtest.h"
#include "optim/schedulers/testing/recording_host.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RecordingHost;

TEST(ReduceLrEveryNepochsTest, ReducesAfterEachMultiple) {
  RecordingHost host;
  ReduceLrEveryNepochs scheduler({.factor = 0.5, .nepochs = 3});
  std::vector<double> rates;
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(host.EndEpoch(scheduler, 0), absl::OkStatus());
    rates.push_back(host.rate);
  }
  EXPECT_EQ(rates, (std::vector<double>{.1, .1, .05, .05, .05, .025, .025}));
  EXPECT_EQ(host.lines, (std::vector<std::string>{
                            "LRScheduler ReduceLREveryNEpochs: setting learning rate to 0.05000000",
                            "LRScheduler ReduceLREveryNEpochs: setting learning rate to "
                            "0.02500000"}));
}

TEST(ReduceLrEveryNepochsTest, StepsBelowTheMinimumAreSkippedNotClamped) {
  RecordingHost host;
  host.rate = 0.01;
  ReduceLrEveryNepochs scheduler({.factor = 0.5, .nepochs = 1, .min_lr = 0.001});
  for (int i = 0; i < 10; ++i) ASSERT_EQ(host.EndEpoch(scheduler, 0), absl::OkStatus());
  EXPECT_EQ(host.rate, 0.00125);
  EXPECT_EQ(host.lines.size(), 3u);
}

}  // namespace
}  // namespace dtnn
