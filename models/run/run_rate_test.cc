// Runs that find their learning rate.

#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "models/training/trainer.h"
#include "tensor/must.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using RunRateTest = RunFixture;

RunOptions Finding() {
  RunOptions options = Short(2);
  options.optimizer.find_learning_rate = true;
  options.data.augment.flip = true;  // random streams
  return options;
}

RunOptions Given(double rate) {
  RunOptions options = Finding();
  options.optimizer.find_learning_rate = false;
  options.optimizer.learning_rate = rate;
  return options;
}

TEST_F(RunRateTest, IsTheRunWithTheRateThatItFinds) {
  std::string printed;
  double told = 0;
  RunObjects objects = Objects();
  objects.sinks.print = [&](std::string_view text) { printed += text; };
  objects.on_learning_rate = [&](double rate) {
    told = rate;
    return absl::OkStatus();
  };
  const auto found = Begin(Finding(), objects);
  const double rate = found->options().optimizer.learning_rate;
  EXPECT_GT(rate, 1e-6);
  EXPECT_EQ(told, rate);
  EXPECT_FALSE(found->options().optimizer.find_learning_rate);
  EXPECT_EQ(found->trainer().learning_rate(), rate);
  EXPECT_EQ(found->trainer().steps_done(), 0);
  EXPECT_THAT(printed, HasSubstr("**** Learning rate: "));
  const auto given = Begin(Given(rate));
  EXPECT_EQ(Parameters(*found), Parameters(*given)) << "before training, to the last bit";
  Must(found->Fit());
  Must(given->Fit());
  EXPECT_EQ(Parameters(*found), Parameters(*given)) << "after it, to the last bit";
  EXPECT_EQ(Must(found->Evaluate()).Values(), Must(given->Evaluate()).Values());
}

TEST_F(RunRateTest, ThePageShowsTheCurve) {
  RunOptions options = Finding();
  options.output.report = In("run.html");
  const auto run = Begin(options, Objects());
  Must(run->Fit());
  EXPECT_THAT(Read("run.html"), HasSubstr("Loss by learning rate"));
}

TEST_F(RunRateTest, AnErrorOfTheProgramEndsTheRun) {
  RunObjects objects = Objects();
  objects.on_learning_rate = [](double) { return absl::DataLossError("no room"); };
  EXPECT_EQ(TrainingRun::Create(Finding(), objects).status().message(), "no room");
}

TEST_F(RunRateTest, RanksFindTheSameRateAndItsScale) {
  std::vector<double> rates(2);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    SetNumThreads(1);
    RunOptions options = Finding();
    options.ranks.parallel = Parallel::kData;
    options.optimizer.learning_rate_scaling = RateScaling::kMultiply;
    RunObjects objects = Objects();
    objects.communicator = &communicator;
    const auto run = TrainingRun::Create(options, objects);
    if (!run.ok()) return run.status();
    rates[size_t(communicator.rank())] = (*run)->options().optimizer.learning_rate;
    EXPECT_DOUBLE_EQ((*run)->trainer().learning_rate(),
                     2 * (*run)->options().optimizer.learning_rate);
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(rates[0], 1e-6);
  EXPECT_EQ(rates[0], rates[1]);
}

}  // namespace
}  // namespace dtnn
