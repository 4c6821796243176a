#include "models/run/options/in_force.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optim/optimizers/optimizers.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

TEST(InForceTest, WhatIsWatchedIsOfTheValidationSamplesWhereThereAreAny) {
  RunOptions options;
  EXPECT_EQ(WatchedBy("early_stopping", options), "val_categorical_cross_entropy");
  EXPECT_EQ(WatchedBy("stop_at_loss", options), "val_categorical_accuracy");
  options.training.loss = "mse";
  options.data.validation_split = 0;
  EXPECT_EQ(WatchedBy("early_stopping", options), "mse");
  EXPECT_EQ(WatchedBy("reduce_lr_on_plateau", options), "mse");
  EXPECT_EQ(WatchedBy("model_checkpoint", options), "mse");
  EXPECT_EQ(WatchedBy("stop_at_loss", options), "categorical_accuracy");
  options.data.test_as_validation = true;
  EXPECT_EQ(WatchedBy("early_stopping", options), "val_mse");
  EXPECT_EQ(WatchedBy("stop_at_loss", options), "val_categorical_accuracy");
}

TEST(InForceTest, EachSchedulerHasAMetricOfItsOwn) {
  RunOptions options;
  options.schedule.early_stopping.metric = "a";
  options.schedule.reduce_on_plateau.metric = "b";
  options.schedule.keep_best.metric = "c";
  options.schedule.stop_at.metric = "d";
  EXPECT_EQ(WatchedBy("early_stopping", options), "a");
  EXPECT_EQ(WatchedBy("reduce_lr_on_plateau", options), "b");
  EXPECT_EQ(WatchedBy("model_checkpoint", options), "c");
  EXPECT_EQ(WatchedBy("stop_at_loss", options), "d");
}

TEST(InForceTest, WhetherSmallerIsBetterFollowsTheMetric) {
  EXPECT_EQ(BetterWatched("categorical_accuracy"), Better::kLarger);
  EXPECT_EQ(BetterWatched("val_categorical_accuracy"), Better::kLarger);
  EXPECT_EQ(BetterWatched("val_mse"), Better::kSmaller);
  EXPECT_EQ(BetterWatched("binary_cross_entropy"), Better::kSmaller) << "a loss";
  RunOptions options;
  EXPECT_TRUE(MinimizesOf(options));
  options.schedule.early_stopping.metric = "val_categorical_accuracy";
  EXPECT_FALSE(MinimizesOf(options));
  options.schedule.early_stopping.minimize = true;
  EXPECT_TRUE(MinimizesOf(options));
  options.schedule.early_stopping = {.metric = "mse", .minimize = false};
  EXPECT_FALSE(MinimizesOf(options));
}

TEST(InForceTest, TheBestModelIsKeptWhereAFolderOrItsSchedulerIsGiven) {
  RunOptions options;
  EXPECT_THAT(SchedulersOf(options), ElementsAre("early_stopping", "reduce_lr_on_plateau"));
  EXPECT_EQ(ModelFolderOf(options), "");
  options.schedule.model_folder = "best";
  EXPECT_THAT(SchedulersOf(options),
              ElementsAre("early_stopping", "reduce_lr_on_plateau", "model_checkpoint"));
  EXPECT_EQ(ModelFolderOf(options), "best");
  options.schedule.schedulers = std::vector<std::string>{"model_checkpoint"};
  EXPECT_EQ(ModelFolderOf(options), "best");
  options.schedule.model_folder = "";
  EXPECT_EQ(ModelFolderOf(options), ".");
  EXPECT_EQ(InForce(options).schedule.model_folder, ".");
  options.schedule.schedulers = std::vector<std::string>();
  EXPECT_EQ(ModelFolderOf(options), "");
  EXPECT_FALSE(Schedules(options, "early_stopping"));
  EXPECT_THAT(*InForce(options).schedule.schedulers, ElementsAre());
}

TEST(InForceTest, FusionsAreOnUnlessTheyAreTurnedOffOneByOne) {
  using Member = std::pair<std::optional<bool> FusionOptions::*, bool Fusions::*>;
  const Member members[] = {{&FusionOptions::conv_bn, &Fusions::conv_bn},
                            {&FusionOptions::conv_bn_relu, &Fusions::conv_bn_relu},
                            {&FusionOptions::conv_relu, &Fusions::conv_relu},
                            {&FusionOptions::bn_relu, &Fusions::bn_relu}};
  for (const auto& [option, off] : members) {
    RunOptions options;
    options.device.fusions.*option = false;
    const RunOptions in_force = InForce(options);
    for (const auto& [other, fusion] : members) {
      EXPECT_EQ(MakeFusions(options).*fusion, fusion != off);
      EXPECT_EQ(in_force.device.fusions.*other, fusion != off);
    }
  }
}

TEST(InForceTest, ThresholdKeysNeedALargerScale) {
  RunOptions options;
  EXPECT_EQ(GlobalScaleOf(options), 40);
  options.encryption.kind = "openfhe";
  EXPECT_EQ(GlobalScaleOf(options), 61);
  options.encryption.global_scale = 50;
  EXPECT_EQ(GlobalScaleOf(options), 50);
  EXPECT_EQ(InForce(options).encryption.global_scale, 50);
}

TEST(InForceTest, ConstantsAreThoseOfTheOptimizerBeforeThoseOfOthers) {
  using Member = std::pair<std::string, std::optional<double> OptimizerOptions::*>;
  const Member members[] = {{"momentum", &OptimizerOptions::momentum},
                            {"beta1", &OptimizerOptions::beta1},
                            {"beta2", &OptimizerOptions::beta2},
                            {"epsilon", &OptimizerOptions::epsilon},
                            {"rho", &OptimizerOptions::rho}};
  for (const std::string_view name : OptimizerNames()) {
    RunOptions options;
    options.optimizer.name = name;
    const auto optimizer = MakeOptimizer(name);
    ASSERT_TRUE(optimizer.ok()) << name;
    for (const auto& [constant, member] : members) {
      const std::optional<double> value = InForce(options).optimizer.*member;
      ASSERT_TRUE(value.has_value()) << name << " " << constant;
      for (const auto& [own, number] : (*optimizer)->constants()) {
        if (own != constant) continue;
        EXPECT_EQ(*value, number) << name << " " << constant;
      }
      options.optimizer.*member = 0.125;
      EXPECT_EQ(InForce(options).optimizer.*member, 0.125) << name << " " << constant;
    }
  }
}

TEST(InForceTest, OfTheBatchTheOneThatIsGivenCounts) {
  RunOptions options;
  options.training.batch.reset();
  options.training.global_batch = 96;
  EXPECT_FALSE(InForce(options).training.batch.has_value());
  EXPECT_EQ(InForce(options).training.global_batch, 96);
  options.training.global_batch.reset();
  options.training.batch = 24;
  EXPECT_EQ(InForce(options).training.batch, 24);
}

}  // namespace
}  // namespace dtnn
