#include "optim/schedulers/model_checkpoint.h"

#include <limits>

#include "gtest/gtest.h"
#include "optim/schedulers/testing/recording_host.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RecordingHost;
using Epochs = std::vector<int64_t>;

void RunEpochs(ModelCheckpoint& scheduler, RecordingHost& host, const std::vector<double>& values) {
  for (const double value : values) {
    ASSERT_EQ(host.EndEpoch(scheduler, value), absl::OkStatus());
  }
}

TEST(ModelCheckpointTest, SavesWhatImprovedAtMultiples) {
  RecordingHost host;
  ModelCheckpoint scheduler({.save_freq = 2});
  RunEpochs(scheduler, host, {.5, .4, .45, .45, .3, .2});
  EXPECT_EQ(host.saved, (Epochs{2, 6}));
  EXPECT_EQ(host.lines,
            (std::vector<std::string>{
                "LRScheduler ModelCheckpoint: saving model weights and bias in epoch-2.npz",
                "LRScheduler ModelCheckpoint: saving model weights and bias in epoch-6.npz"}));
}

TEST(ModelCheckpointTest, AnImprovementBetweenMultiplesIsSavedAtTheNext) {
  RecordingHost host;
  ModelCheckpoint scheduler({.save_freq = 3});
  RunEpochs(scheduler, host, {.5, .4, .45, .45, .45, .45});
  EXPECT_EQ(host.saved, (Epochs{2}));  // the parameters of epoch 2, written once, after epoch 3
  EXPECT_EQ(host.lines.size(), 1u);
}

TEST(ModelCheckpointTest, WhatIsNotSavedYetIsSavedAtTheEnd) {
  RecordingHost host;
  ModelCheckpoint scheduler({.save_freq = 2});
  RunEpochs(scheduler, host, {.5, .4, .3});
  EXPECT_EQ(host.saved, (Epochs{2}));
  ASSERT_EQ(scheduler.OnTrainEnd(host), absl::OkStatus());
  EXPECT_EQ(host.saved, (Epochs{2, 3}));
  ASSERT_EQ(scheduler.OnTrainEnd(host), absl::OkStatus());
  EXPECT_EQ(host.saved, (Epochs{2, 3})) << "once";
}

TEST(ModelCheckpointTest, LargerCanBeBetter) {
  RecordingHost host;
  ModelCheckpoint scheduler(
      {.metric = "val_categorical_accuracy", .better = Better::kLarger, .save_freq = 1});
  EXPECT_EQ(scheduler.watched(), "val_categorical_accuracy");
  RunEpochs(scheduler, host, {50, 40, 60});
  EXPECT_EQ(host.saved, (Epochs{1, 3}));
}

TEST(ModelCheckpointTest, NanIsNeverSaved) {
  RecordingHost host;
  ModelCheckpoint scheduler({.save_freq = 1});
  RunEpochs(scheduler, host, {std::numeric_limits<double>::quiet_NaN()});
  EXPECT_TRUE(host.saved.empty());
}

TEST(ModelCheckpointTest, GoesOnFromItsState) {
  RecordingHost host;
  ModelCheckpoint first({.save_freq = 2}), second({.save_freq = 2});
  RunEpochs(first, host, {.5});
  ASSERT_EQ(second.Restore(first.State()), absl::OkStatus());
  RunEpochs(second, host, {.6, .6, .6});
  EXPECT_EQ(host.saved, (Epochs{1}));
  EXPECT_FALSE(second.Restore(std::vector<double>{0, 1e300}).ok());
}

}  // namespace
}  // namespace dtnn
