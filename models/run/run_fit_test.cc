// Several calls of Fit.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "models/training/trainer.h"
#include "optim/schedulers/early_stopping.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using RunFitTest = RunFixture;

TEST_F(RunFitTest, GoesOnWithTheStateOfTheOptimizer) {
  const auto whole = Begin(Short(3)), in_parts = Begin(Short(1));
  Must(whole->Fit());
  Must(in_parts->Fit());
  Must(in_parts->Fit(2));
  EXPECT_EQ(in_parts->trainer().epochs_done(), 3);
  EXPECT_EQ(in_parts->options().training.epochs, 3);
  EXPECT_EQ(Parameters(*in_parts), Parameters(*whole)) << "to the last bit";
  const auto without = Begin(Short(3));
  Must(without->Fit(1));
  EXPECT_EQ(without->trainer().epochs_done(), 1);
}

// The rates of all steps.
struct Rates : Callback {
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind == Pass::Kind::kTraining) {
      seen.push_back(pass.trainer->engine().learning_rate());
    }
    return absl::OkStatus();
  }
  std::vector<double> seen;
};

TEST_F(RunFitTest, SchedulesBeginAnew) {
  RunOptions options = Short(2);
  options.schedule = {.schedulers = {"cosine"}};
  Rates rates;
  RunObjects objects = Objects();
  objects.callbacks = {&rates};
  const auto run = Begin(options, objects);
  Must(run->Fit());
  const std::vector<double> first = rates.seen;
  Must(run->Fit(2));
  ASSERT_EQ(rates.seen.size(), 2 * first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), rates.seen.begin() + int64_t(first.size())));
  EXPECT_EQ(first[0], 0.01);
  EXPECT_LT(first.back(), 0.01);
}

TEST_F(RunFitTest, SchedulersOfAProgramForgetTheEpochsBefore) {
  RunOptions options = Short(50);
  RunObjects objects = Objects();
  // Every epoch but the first is worse.
  objects.schedulers = {EarlyStopping(
      {.metric = "categorical_cross_entropy", .better = Better::kLarger, .patience = 2})};
  const auto run = Begin(options, objects);
  Must(run->Fit());
  EXPECT_EQ(run->trainer().epochs_done(), 3);
  Must(run->Fit(50));
  EXPECT_EQ(run->trainer().epochs_done(), 6);
}

TEST_F(RunFitTest, MoreEpochsThanCanBeCountedAreRefused) {
  const auto run = Begin(Short(1));
  Must(run->Fit(1));
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Message(run->Fit(most)),
              HasSubstr("Run::Fit(9223372036854775807): expected 9223372036854775806 epochs or "
                        "fewer after 1 epoch"));
  Must(run->Fit(1));
  EXPECT_EQ(run->trainer().epochs_done(), 2);
}

// A callback that stops the training, and not the run, after some epoch or in its middle.
struct StopAt : Callback {
  StopAt(int64_t epoch, int64_t step) : epoch(epoch), step(step) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind == Pass::Kind::kTraining && pass.epoch == epoch && pass.step == step) Stop(pass);
    return absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
    if (training.epoch == epoch && step == 0) Stop(training);
    return absl::OkStatus();
  }
  void Stop(const Pass& pass) {
    if (!std::exchange(stopped, true)) pass.trainer->Stop();
  }
  const int64_t epoch, step;  // 0: at the end
  bool stopped = false;
};

TEST_F(RunFitTest, WhatACallbackHasStoppedIsContinued) {
  RunOptions options = Short(3);
  options.schedule.schedulers = {"cosine"};  // over all epochs, which does not begin anew
  const auto whole = Begin(options);
  Must(whole->Fit());
  for (const auto& [epoch, step] : {std::pair(0, 0), std::pair(0, 2), std::pair(1, 2)}) {
    StopAt stop(epoch, step);
    std::string printed;
    RunObjects objects = Objects();
    objects.callbacks = {&stop};
    objects.sinks.print = [&](std::string_view text) { printed += text; };
    const auto run = Begin(options, objects);
    Must(run->Fit());
    EXPECT_EQ(run->trainer().epochs_done(), step == 0 ? epoch + 1 : epoch);
    Must(run->Fit());
    EXPECT_EQ(run->trainer().epochs_done(), 3);
    EXPECT_EQ(Parameters(*run), Parameters(*whole)) << "to the last bit";
    EXPECT_THAT(printed, Not(HasSubstr("A scheduler ended this run")));
    EXPECT_THAT(Message(run->Fit()), HasSubstr("has trained all its epochs"));
  }
}

TEST_F(RunFitTest, ItsCheckpointsStay) {
  RunOptions options = Short(1);
  options.checkpoint.folder = In("c");
  options.checkpoint.resume = Resume::kIfThere;
  Must(Begin(options)->Fit());
  options.training.epochs = 3;
  StopAt stop(1, 0);
  std::vector<std::string> warnings;
  RunObjects objects = Objects();
  objects.callbacks = {&stop};
  objects.sinks.warn = [&](std::string_view line) { warnings.emplace_back(line); };
  const auto run = Begin(options, objects);
  EXPECT_EQ(run->trainer().epochs_done(), 1);
  Must(run->Fit());
  EXPECT_EQ(run->trainer().epochs_done(), 2);
  Must(run->Fit());
  EXPECT_EQ(run->trainer().epochs_done(), 3);
  EXPECT_THAT(warnings, IsEmpty()) << "none is set aside";
}

TEST_F(RunFitTest, WhatACallbackHasStoppedIsResumed) {
  RunOptions options = Short(3);
  const auto whole = Begin(options);
  Must(whole->Fit());
  options.checkpoint.folder = In("c");
  options.checkpoint.resume = Resume::kIfThere;
  StopAt stop(0, 0);
  RunObjects objects = Objects();
  objects.callbacks = {&stop};
  auto run = Begin(options, objects);
  Must(run->Fit());
  run->End();
  run = Begin(options);
  EXPECT_EQ(run->trainer().epochs_done(), 1);
  Must(run->Fit());
  EXPECT_EQ(Parameters(*run), Parameters(*whole)) << "to the last bit";
}

TEST_F(RunFitTest, WhatASchedulerHasEndedIsNot) {
  RunOptions options = Short(100);
  options.optimizer.learning_rate = 1e-30;  // the first epoch is the best
  options.schedule = {.schedulers = {"early_stopping"}, .early_stopping = {.patience = 2}};
  const auto run = Begin(options);
  Must(run->Fit());
  EXPECT_LT(run->trainer().epochs_done(), 6);
  EXPECT_THAT(Message(run->Fit()), HasSubstr("has trained all its epochs"));
  const auto counted = Begin(options);
  Must(counted->Fit(100));
  EXPECT_THAT(Message(counted->Fit()), HasSubstr("has trained all its epochs"));
}

TEST_F(RunFitTest, TheHistoryHasAllEpochs) {
  RunOptions options = Short(2);
  options.output = {.model = In("m.npz"), .history = In("h.csv")};
  const auto run = Begin(options);
  Must(run->Fit());
  Must(run->Evaluate().status());
  Must(run->Fit(1));
  Must(run->Evaluate().status());
  run->End();
  const std::string history = Read("h.csv");
  EXPECT_EQ(std::ranges::count(history, '\n'), 4) << history;
  const int64_t columns = std::ranges::count(history.substr(0, history.find('\n')), ',');
  EXPECT_EQ(std::ranges::count(history, ','), 4 * columns) << history;
  EXPECT_EQ(Model("m.npz").description.training.epochs, 3);
}

TEST_F(RunFitTest, ThePageHasAllEpochs) {
  RunOptions options = Short(2);
  options.output.report = In("r.html");
  const auto run = Begin(options);
  Must(run->Fit());
  Must(run->Fit(1));
  run->End();
  EXPECT_THAT(Read("r.html"),
              AllOf(HasSubstr("training, epoch 1: "), HasSubstr("training, epoch 3: ")));
}

TEST_F(RunFitTest, ExecuteIsForANewRun) {
  const auto run = Begin(Short(1));
  Must(run->Fit());
  EXPECT_THAT(Message(run->Execute()), HasSubstr("this run has trained by Run::Fit"));
  EXPECT_EQ(run->trainer().epochs_done(), 1);
  Must(run->Evaluate().status());
  EXPECT_EQ(Begin(Short(1))->Execute(), absl::OkStatus());
}

TEST_F(RunFitTest, IsRefusedWhereItCouldNotBeResumed) {
  RunOptions options = Short(1);
  options.checkpoint.folder = In("c");
  EXPECT_THAT(Message(Begin(options)->Fit(1)), HasSubstr("RunOptions::checkpoint.folder"));
  EXPECT_THAT(Message(Begin(Short(1))->Fit(-1)), HasSubstr("Run::Fit(-1)"));
}

}  // namespace
}  // namespace dtnn
