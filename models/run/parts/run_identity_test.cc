#include "models/run/parts/run_identity.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/parts/make_training.h"
#include "models/run/samples/make_dataset.h"

namespace dtnn {
namespace {

using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

using Edit = std::function<void(RunOptions& o)>;

RunIdentity IdentityOf(const Edit& edit) {
  RunOptions options = {
      .network = {.name = "simplecnn"},
      .data = {.name = "synthetic", .synthetic = {.train_samples = 20, .input_shape = {1, 4, 4}}}};
  if (edit) edit(options);
  const std::shared_ptr<const Dataset> dataset = *MakeDataset(options);
  return MakeRunIdentity(options, **MakeOptimizer(options), *dataset, {},
                         *MakeLoaders(options, dataset));
}

// What is said of a run that resumes one of the defaults: "member: was, is".
std::vector<std::string> Changed(const Edit& edit) {
  constexpr std::string_view kMember = "RunOptions::";
  std::vector<std::string> lines;
  for (const IdentityChange& change : Compare(IdentityOf({}), IdentityOf(edit))) {
    const Difference& d = change.difference;
    const std::string what = d.what.starts_with(kMember) ? d.what.substr(kMember.size()) : d.what;
    lines.push_back(what + ": " + d.was + ", " + d.now);
  }
  return lines;
}

TEST(RunIdentityTest, WithoutTrainingThereAreNoTransforms) {
  const auto tells = [](const Edit& edit, std::string_view what) {
    return std::ranges::any_of(IdentityOf(edit).members, [what](const IdentityMember& member) {
      return member.what == what;
    });
  };
  const Edit evaluates = [](RunOptions& o) { o.training.evaluate_only = true; };
  EXPECT_TRUE(tells({}, "list of transforms"));
  EXPECT_FALSE(tells(evaluates, "list of transforms"));
  EXPECT_TRUE(tells(evaluates, "preprocessing of the samples"));
}

TEST(RunIdentityTest, EveryChoiceThatDecidesTheResultIsCompared) {
  EXPECT_THAT(Changed({}), UnorderedElementsAre());
  EXPECT_THAT(Changed([](RunOptions& o) {
                o.training.epochs = 7;
                o.training.batch = 64;
                o.sync.initial_model = false;
                o.checkpoint.every_epochs = 3;
                o.output.quiet = true;
              }),
              UnorderedElementsAre())
      << "these may be others, or are compared elsewhere";
  const struct {
    Edit edit;
    const char* change;
  } cases[] = {
      {[](RunOptions& o) { o.data.validation_split = 0.5; }, "data.validation_split: 0.2, 0.5"},
      {[](RunOptions& o) { o.data.part = "1/2"; }, "data.part: None, 1/2"},
      {[](RunOptions& o) { o.data.share = 0.5; }, "data.share: 0, 0.5"},
      {[](RunOptions& o) { o.data.shuffle = false; }, "data.shuffle: True, False"},
      {[](RunOptions& o) { o.data.augment.flip = true; }, "list of transforms: none, flip:0.5"},
      {[](RunOptions& o) { o.data.normalize = true; },
       "preprocessing of the samples: byte / 255, not normalised, byte / 255, offset -0.45, scale "
       "3.75"},
      {[](RunOptions& o) { o.training.batch = 3; }, "training.batch: 64, 3"},
      {[](RunOptions& o) { o.training.clip_norm = 2; }, "training.clip_norm: 0, 2"},
      {[](RunOptions& o) { o.training.dp_sgd_clip = 2; }, "training.dp_sgd_clip: 0, 2"},
      {[](RunOptions& o) { o.training.dp_sgd_noise = 2; }, "training.dp_sgd_noise: 0, 2"},
      {[](RunOptions& o) { o.training.label_smoothing = 0.5; }, "training.label_smoothing: 0, 0.5"},
      {[](RunOptions& o) { o.optimizer.momentum = 0.5; }, "momentum of the optimizer: 0.9, 0.5"},
      {[](RunOptions& o) { o.sync.participation = Participation::kWithData; },
       "sync.participation: all, avail2all"},
      {[](RunOptions& o) { o.sync.min_available = 2; }, "sync.min_available: 0, 2"},
      {[](RunOptions& o) { o.sync.final_model = false; }, "sync.final_model: True, False"},
      {[](RunOptions& o) { o.training.accumulate_steps = 3; }, "training.accumulate_steps: 1, 3"},
      {[](RunOptions& o) { o.training.steps_per_epoch = 2; }, "training.steps_per_epoch: 0, 2"},
      {[](RunOptions& o) { o.sync.batch_norm = true; }, "sync.batch_norm: False, True"},
      {[](RunOptions& o) { o.sync.model_steps = 2; }, "sync.model_steps: 0, 2"},
      {[](RunOptions& o) { o.sync.weighting = RankWeighting::kSamples; },
       "sync.weighting: avg, wavg"},
      {[](RunOptions& o) { o.sync.compression = "bf16"; }, "sync.compression: none, bf16"},
      {[](RunOptions& o) { o.device.math_mode = MathMode::kBf16; }, "device.math_mode: fp32, bf16"},
      {[](RunOptions& o) { o.schedule.early_stopping.patience = 2; },
       "schedule.early_stopping.patience: 10, 2"},
      {[](RunOptions& o) { o.schedule.reduce_on_plateau.factor = 0.25; },
       "schedule.reduce_on_plateau.factor: 0.1, 0.25"},
  };
  for (const auto& [edit, change] : cases) {
    EXPECT_THAT(Changed(edit), UnorderedElementsAre(change));
  }
  EXPECT_THAT(Changed([](RunOptions& o) { o.data.test_as_validation = true; }),
              UnorderedElementsAre("data.test_as_validation: False, True"));
  EXPECT_THAT(Changed([](RunOptions& o) {
                o.data.augment.transforms = "flip:0.25";
                o.data.augment.mixup = 0.5;
              }),
              UnorderedElementsAre("list of transforms: none, flip:0.25,mixup:0.5"));
  EXPECT_THAT(Changed([](RunOptions& o) { o.schedule.stop_at.threshold = 2; }),
              UnorderedElementsAre())
      << "the run has no such scheduler";
  EXPECT_THAT(Changed([](RunOptions& o) {
                o.training.loss = "mse";
                o.training.metrics = {"categorical_mae"};
              }),
              IsSupersetOf({"training.loss: categorical_cross_entropy, mse",
                            "training.metrics: categorical_accuracy, categorical_mae",
                            "schedule.early_stopping.metric: val_categorical_cross_entropy, "
                            "val_mse"}));
}

TEST(RunIdentityTest, OneSizeOfABatchCounts) {
  EXPECT_THAT(Changed([](RunOptions& o) { o.training.global_batch = 32; }),
              UnorderedElementsAre("training.batch: 64, None", "training.global_batch: None, 32"));
}

TEST(RunIdentityTest, WhatMayChangeWithinAnEpochAndWhatMakesMetricsOthers) {
  const auto change = [](const Edit& edit) {
    const std::vector<IdentityChange> changes = Compare(IdentityOf({}), IdentityOf(edit));
    EXPECT_EQ(changes.size(), 1u);
    return changes.at(0);
  };
  for (const Edit& edit : {Edit([](RunOptions& o) { o.data.validation_split = 0.5; }),
                           Edit([](RunOptions& o) { o.data.part = "2/3"; }),
                           Edit([](RunOptions& o) { o.training.label_smoothing = 0.5; })}) {
    EXPECT_EQ(change(edit).may_change, MayChange::kAfterAnEpoch);
    EXPECT_EQ(change(edit).other_metrics, OtherMetrics::kAll);
    EXPECT_EQ(change(edit).of_scheduler, "");
  }
  // Schedulers watch metrics of training where there is no validation, which is measured without
  // weights and transforms.
  for (const Edit& edit : {Edit([](RunOptions& o) { o.training.class_weights = "balanced"; }),
                           Edit([](RunOptions& o) { o.data.augment.mixup = 0.5; }),
                           Edit([](RunOptions& o) { o.data.augment.transforms = "flip"; })}) {
    EXPECT_EQ(change(edit).other_metrics, OtherMetrics::kTraining);
    EXPECT_EQ(change(edit).may_change, MayChange::kYes);
  }
  const IdentityChange patience =
      change([](RunOptions& o) { o.schedule.early_stopping.patience = 2; });
  EXPECT_EQ(patience.may_change, MayChange::kYes);
  EXPECT_EQ(patience.other_metrics, OtherMetrics::kNone);
  const IdentityChange metric =
      change([](RunOptions& o) { o.schedule.reduce_on_plateau.metric = "categorical_accuracy"; });
  EXPECT_EQ(metric.other_metrics, OtherMetrics::kAll);
  EXPECT_EQ(metric.of_scheduler, "reduce_lr_on_plateau");
}

}  // namespace
}  // namespace dtnn
