#include "models/run/tables/run_speed.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RunSpeedTest, CountsTheSamplesThatWereDone) {
  EXPECT_EQ(
      FormatRunSpeed(4, {.training_samples = 160, .validation_samples = 40, .epoch_samples = 80}),
      "**** Done...\nTime: 4.00 s\nThroughput: 50.00 samples/s, validation included\n"
      "Time per epoch: 2.0000 s\n");
}

// Resumed after 1 950 of 2 000 samples: a fortieth of the training, and the validation as a whole.
TEST(RunSpeedTest, AnEpochThatWasResumedCountsAsThePartOfItThatWasDone) {
  EXPECT_EQ(FormatRunSpeed(
                0.5, {.training_samples = 50, .epoch_samples = 2000, .training_seconds = 0.25}),
            "**** Done...\nTime: 0.50 s\nThroughput: 100.00 samples/s\n"
            "Time per epoch: 10.2500 s\n");
  // The last half of an epoch, and one more.
  EXPECT_EQ(
      FormatRunSpeed(4, {.training_samples = 3000, .epoch_samples = 2000, .training_seconds = 3}),
      "**** Done...\nTime: 4.00 s\nThroughput: 750.00 samples/s\n"
      "Time per epoch: 2.5000 s\n");
}

TEST(RunSpeedTest, ARunThatDidNothingHasNone) {
  EXPECT_EQ(FormatRunSpeed(0, {}), "**** Done...\nTime: 0.00 s\nThroughput: 0.00 samples/s\n");
}

}  // namespace
}  // namespace dtnn
