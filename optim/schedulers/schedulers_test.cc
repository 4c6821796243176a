#include "optim/schedulers/schedulers.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optim/schedulers/testing/recording_host.h"

namespace dtnn {
namespace {

TEST(SchedulersTest, EveryNameMakesTheSchedulerOfThatName) {
  EXPECT_EQ(SchedulerNames().size(), 9);
  for (std::string_view name : SchedulerNames()) {
    const auto scheduler = MakeScheduler(name);
    ASSERT_TRUE(scheduler.ok()) << scheduler.status();
    EXPECT_EQ((*scheduler)->name(), name);
    EXPECT_NE(*scheduler, *MakeScheduler(name)) << "each has a state of its own";
  }
}

TEST(SchedulersTest, WhatIsNotGivenKeepsTheSchedulersOwnDefault) {
  const ScheduleStep step = {.step = 4, .steps_per_epoch = 2, .total_steps = 100};
  EXPECT_EQ((*MakeScheduler("warm_up"))->Factor(step), 0.5);  // of 5 epochs
  EXPECT_EQ((*MakeScheduler("warm_up", {.batches = 20}))->Factor(step), 0.25);
  EXPECT_EQ((*MakeScheduler("warm_up", {.epochs = 2}))->Factor(step), 1);
  const ScheduleStep last = {.step = 99, .steps_per_epoch = 2, .total_steps = 100};
  EXPECT_LT((*MakeScheduler("cosine"))->Factor(last), 0.01);
  EXPECT_GE((*MakeScheduler("cosine", {.floor = 0.5}))->Factor(last), 0.5);
  EXPECT_EQ((*MakeScheduler("cosine", {.restart_epochs = 3}))->Factor({6, 2, 100}), 1);
  EXPECT_LT(
      (*MakeScheduler("cosine", {.restart_epochs = 3, .restart_growth = 2}))->Factor({12, 2, 100}),
      0.6);
  EXPECT_NEAR((*MakeScheduler("polynomial", {.floor = 0.5, .power = 2}))->Factor({50, 2, 100}),
              0.625, 1e-15);
  EXPECT_EQ((*MakeScheduler("early_stopping"))->watched(), "val_categorical_cross_entropy");
  EXPECT_EQ((*MakeScheduler("early_stopping", {.metric = "mse"}))->watched(), "mse");
  EXPECT_EQ((*MakeScheduler("stop_at_loss"))->watched(), "val_categorical_accuracy");
}

// What the scheduler of this name has done after epochs with these values.
testing::RecordingHost After(std::string_view name, const SchedulerConstants& constants,
                             const std::vector<double>& values) {
  testing::RecordingHost host;
  const std::shared_ptr<Scheduler> scheduler = *MakeScheduler(name, constants);
  for (const double value : values) {
    EXPECT_EQ(host.EndEpoch(*scheduler, value), absl::OkStatus());
  }
  return host;
}

TEST(SchedulersTest, EachConstantArrives) {
  const SchedulerConstants every = {.nepochs = 2, .factor = 0.5, .min_lr = 0.04};
  EXPECT_EQ(After("reduce_lr_every_nepochs", every, {1}).rate, 0.1);
  EXPECT_EQ(After("reduce_lr_every_nepochs", every, {1, 1}).rate, 0.05);
  EXPECT_EQ(After("reduce_lr_every_nepochs", every, {1, 1, 1, 1}).rate, 0.05);
  const SchedulerConstants plateau = {.patience = 1, .factor = 0.5, .min_lr = 0.04};
  EXPECT_EQ(After("reduce_lr_on_plateau", plateau, {1}).rate, 0.1);
  EXPECT_EQ(After("reduce_lr_on_plateau", plateau, {1, 1}).rate, 0.05);
  EXPECT_EQ(After("reduce_lr_on_plateau", plateau, {1, 1, 1}).rate, 0.05);
  const SchedulerConstants early = {.patience = 2, .min_delta = 0.5};
  EXPECT_FALSE(After("early_stopping", early, {3, 2, 1.9}).stopped);
  EXPECT_TRUE(After("early_stopping", early, {3, 2, 1.9, 1.8}).stopped);
  const SchedulerConstants stop = {.metric = "mse", .better = Better::kSmaller, .threshold = 0.25};
  EXPECT_FALSE(After("stop_at_loss", stop, {0.3}).stopped);
  EXPECT_TRUE(After("stop_at_loss", stop, {0.2}).stopped);
  EXPECT_TRUE(After("model_checkpoint", {.save_freq = 3}, {1, 1}).saved.empty());
  EXPECT_EQ(After("model_checkpoint", {.save_freq = 3}, {1, 1, 1}).saved.size(), 1u);
}

TEST(SchedulersTest, AStateHasAsManyValuesAsTheScheduler) {
  for (const std::string_view name : SchedulerNames()) {
    const auto scheduler = *MakeScheduler(name);
    const std::vector<double> state = scheduler->State();
    EXPECT_EQ(scheduler->Restore(state), absl::OkStatus()) << name;
    for (size_t size = 0; size < 5; ++size) {
      if (size == state.size()) continue;
      EXPECT_THAT(std::string(scheduler->Restore(std::vector<double>(size, 1)).message()),
                  ::testing::HasSubstr("expected " + std::to_string(state.size())))
          << name << " of " << size;
    }
  }
}

TEST(SchedulersTest, AnotherNameIsAnsweredWithTheNames) {
  EXPECT_THAT(std::string(MakeScheduler("cosinus").status().message()),
              ::testing::AllOf(::testing::HasSubstr("cosinus"),
                               ::testing::HasSubstr("cosine, polynomial, one_cycle")));
}

}  // namespace
}  // namespace dtnn
