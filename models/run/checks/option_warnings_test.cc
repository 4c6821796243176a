#include "models/run/checks/option_warnings.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> Warnings(const std::function<void(RunOptions& o)>& edit,
                                  bool own_schedulers = false) {
  RunOptions options;
  edit(options);
  return OptionWarnings(options, own_schedulers);
}

TEST(OptionWarningsTest, WhatIsHardlyMeantIsNamed) {
  EXPECT_THAT(OptionWarnings({}), IsEmpty());
  EXPECT_THAT(
      Warnings([](auto& o) { o.training.evaluate_only = true; }),
      ElementsAre(StartsWith("RunOptions::training.evaluate_only: tests a network with random")));
  EXPECT_THAT(
      Warnings([](auto& o) { o.training.evaluate_only = true, o.network.weights = "m.npz"; }),
      IsEmpty());
  EXPECT_THAT(Warnings([](auto& o) { o.data.share = 5; }),
              ElementsAre("RunOptions::data.share=5: is a share, not per cent; uses all data 5 "
                          "times in each epoch"));
  EXPECT_THAT(Warnings([](auto& o) { o.data.share = 2; }), IsEmpty());
  EXPECT_THAT(Warnings([](auto& o) { o.encryption.security_level = "0"; }), IsEmpty());
  EXPECT_THAT(Warnings([](auto& o) { o.encryption = {.kind = "tenseal", .security_level = "0"}; }),
              ElementsAre(StartsWith("RunOptions::encryption.security_level=0: nobody checks")));
}

TEST(OptionWarningsTest, SchedulersThatEndTooSoonAreNamed) {
  const auto stops = [](auto& o) { o.schedule.schedulers = {"stop_at_loss"}; };
  EXPECT_THAT(Warnings(stops), ElementsAre(StartsWith("RunOptions::schedule.schedulers: stop_at")));
  EXPECT_THAT(Warnings(stops, /*own_schedulers=*/true), IsEmpty());
  EXPECT_THAT(Warnings([&](auto& o) { stops(o), o.schedule.stop_at.threshold = 0; }), IsEmpty());
  EXPECT_THAT(Warnings([](auto& o) {
                o.schedule.early_stopping = {.metric = "val_categorical_accuracy",
                                             .minimize = true};
              }),
              ElementsAre("RunOptions::schedule.early_stopping.minimize=True: but larger values of "
                          "val_categorical_accuracy are better"));
}

TEST(OptionWarningsTest, MetricsOfPrivateTrainingAreNotProtected) {
  RunOptions options;
  options.training.dp_sgd_clip = options.training.dp_sgd_noise = 1;
  const std::vector<std::string> warnings = OptionWarnings(options, /*own_schedulers=*/false);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("metrics of training"), std::string::npos);
}

}  // namespace
}  // namespace dtnn
