#include "optim/schedulers/schedulers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(SchedulersTest, AnotherNameIsAnsweredWithTheNames) {
  EXPECT_THAT(std::string(MakeScheduler("cosinus").status().message()),
              ::testing::AllOf(::testing::HasSubstr("cosinus"),
                               ::testing::HasSubstr("cosine, polynomial, one_cycle")));
}

}  // namespace
}  // namespace dtnn
