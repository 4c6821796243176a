#include "apps/make/run_choices.h"

#include <set>
#include <string>
#include <utility>

#include "apps/flags/parser.h"
#include "apps/make/make_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

RunSettings SettingsOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {"--model=simplecnn", "--dataset=synthetic", "--synthetic-input-shape=1,4,4",
                    "--synthetic-train-samples=20"});
  const Options options = ParseFlags(arguments)->options;
  const std::shared_ptr<const Dataset> dataset = *MakeDataset(options);
  return {.choices = MakeRunChoices(options, *dataset, *MakeLoaders(options, dataset))};
}

// What a run is told that resumes one of the defaults: "what: was, is".
std::vector<std::string> Told(const std::vector<std::string>& arguments) {
  std::vector<std::string> lines;
  for (const SettingChange& change : Changes(SettingsOf({}), SettingsOf(arguments))) {
    const Difference& d = change.difference;
    lines.push_back(d.what + ": " + d.was + ", " + d.now);
  }
  return lines;
}

TEST(RunChoicesTest, WhateverDecidesTheResultIsCompared) {
  EXPECT_THAT(Told({}), UnorderedElementsAre());
  EXPECT_THAT(Told({"--num-epochs=7", "--checkpoint-freq=3", "--quiet", "--batch-size=3"}),
              UnorderedElementsAre())
      << "these may be others, or are compared elsewhere";
  EXPECT_THAT(Told({"--validation-split=0.5"}),
              UnorderedElementsAre("--validation-split: 0.2, 0.5"));
  EXPECT_THAT(Told({"--test-as-validation"}),
              UnorderedElementsAre("--test-as-validation: False, True"));
  EXPECT_THAT(Told({"--dataset-part=1/2"}), UnorderedElementsAre("--dataset-part: None, 1/2"));
  EXPECT_THAT(Told({"--dataset-percentage=0.5"}),
              UnorderedElementsAre("--dataset-percentage: 0, 0.5"));
  EXPECT_THAT(Told({"--augment=flip:0.25", "--mixup=0.5"}),
              UnorderedElementsAre("list of transforms: none, flip:0.25,mixup:0.5"));
  EXPECT_THAT(Told({"--augment-flip"}), UnorderedElementsAre("list of transforms: none, flip:0.5"));
  EXPECT_THAT(Told({"--augment-shuffle=False"}),
              UnorderedElementsAre("--augment-shuffle: True, False"));
  EXPECT_THAT(Told({"--normalize"}),
              UnorderedElementsAre("preprocessing of the samples: byte / 255, not "
                                   "normalised, byte / 255, offset -0.45, scale 3.75"));
  EXPECT_THAT(Told({"--accumulate-steps=3"}), UnorderedElementsAre("--accumulate-steps: 1, 3"));
  EXPECT_THAT(Told({"--early-stopping-patience=2"}),
              UnorderedElementsAre("--early-stopping-patience: 10, 2"));
  EXPECT_THAT(Told({"--stop-at-loss-threshold=2"}), UnorderedElementsAre())
      << "the run has no such scheduler";
  EXPECT_THAT(Told({"--loss-func=mse", "--metrics=categorical_mae"}),
              IsSupersetOf({"--loss-func: categorical_cross_entropy, mse",
                            "--metrics: categorical_accuracy, categorical_mae",
                            "--early-stopping-metric: val_categorical_cross_entropy, val_mse"}));
}

TEST(RunChoicesTest, WhatMayChangeWithinAnEpochAndWhatMakesMetricsOthers) {
  const auto change = [](const std::string& argument) {
    const std::vector<SettingChange> changes = Changes(SettingsOf({}), SettingsOf({argument}));
    EXPECT_EQ(changes.size(), 1u) << argument;
    return changes.at(0);
  };
  for (const char* argument : {"--validation-split=0.5", "--dataset-part=2/3"}) {
    EXPECT_EQ(change(argument).may_change, MayChange::kAfterAnEpoch);
    EXPECT_EQ(change(argument).other_metrics, OtherMetrics::kAll);
    EXPECT_EQ(change(argument).of_scheduler, "");
  }
  // Schedulers watch metrics of training where there is no validation, which is measured without
  // weights and transforms.
  for (const char* argument : {"--class-weights=balanced", "--mixup=0.5", "--augment=flip"}) {
    EXPECT_EQ(change(argument).other_metrics, OtherMetrics::kTraining) << argument;
    EXPECT_EQ(change(argument).may_change, MayChange::kYes) << argument;
  }
  const SettingChange patience = change("--early-stopping-patience=2");
  EXPECT_EQ(patience.may_change, MayChange::kYes);
  EXPECT_EQ(patience.other_metrics, OtherMetrics::kNone);
  const SettingChange metric = change("--reduce-lr-on-plateau-metric=categorical_cross_entropy");
  EXPECT_EQ(metric.other_metrics, OtherMetrics::kAll);
  EXPECT_EQ(metric.of_scheduler, "reduce_lr_on_plateau");
}

}  // namespace
}  // namespace dtnn
