#include "models/checkpoint/run_settings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Difference> Differences(const RunSettings& was, const RunSettings& now) {
  std::vector<Difference> differences;
  for (const SettingChange& change : Changes(was, now)) differences.push_back(change.difference);
  return differences;
}

TEST(RunSettingsTest, EveryDifferenceIsNamedWithBothValues) {
  const RunSettings was = {.data = {.dataset = "mnist", .samples = 60000, .contents = 1},
                           .learning_rate = 0.1,
                           .optimizer = {{"decay", 0}, {"momentum", 0.9}},
                           .clip_norm = 0,
                           .label_smoothing = 0};
  EXPECT_THAT(Differences(was, was), IsEmpty());
  RunSettings now = was;
  now.learning_rate = 0.2;
  EXPECT_THAT(Differences(was, now), IsEmpty()) << "it may change";
  now.data.contents = 2;
  now.optimizer = {{"decay", 0}, {"momentum", 0.5}};
  now.clip_norm = 1;
  now.label_smoothing = 0.1;
  EXPECT_THAT(
      Differences(was, now),
      ElementsAre(Difference{"checksum of the samples", "0000000000000001", "0000000000000002"},
                  Difference{"momentum of the optimizer", "0.9", "0.5"},
                  Difference{"norm that gradients are clipped to", "0", "1"},
                  Difference{"label smoothing", "0", "0.1"}));
  now = was;
  now.optimizer = {{"momentum", 0.9}, {"rho", 0.5}};
  EXPECT_THAT(Differences(was, now),
              ElementsAre(Difference{"decay of the optimizer", "0", "none"},
                          Difference{"rho of the optimizer", "none", "0.5"}));
}

TEST(RunSettingsTest, DataAndTheLossMakeMetricsOthers) {
  const RunSettings was = {.data = {.contents = 1}};
  RunSettings data = was, smoothed = was, clipped = was;
  data.data.contents = 2;
  smoothed.label_smoothing = 0.5;
  clipped.clip_norm = 1;
  EXPECT_EQ(Changes(was, data).at(0).other_metrics, OtherMetrics::kAll);
  EXPECT_EQ(Changes(was, smoothed).at(0).other_metrics, OtherMetrics::kAll);
  EXPECT_EQ(Changes(was, clipped).at(0).other_metrics, OtherMetrics::kNone);
  EXPECT_EQ(Changes(was, clipped).at(0).may_change, MayChange::kAfterAnEpoch);
}

TEST(RunSettingsTest, ChoicesAreComparedByTheRulesOfTheRunThatResumes) {
  const RunSettings was = {.choices = {{"loss", "mse"}, {"old", "1"}, {"same", "x"}}};
  const RunSettings now = {.choices = {{.what = "loss",
                                        .value = "mae",
                                        .may_change = MayChange::kNever,
                                        .other_metrics = OtherMetrics::kAll,
                                        .of_scheduler = "early_stopping"},
                                       {"new", "2"},
                                       {"same", "x"}}};
  const std::vector<SettingChange> changes = Changes(was, now);
  ASSERT_EQ(changes.size(), 1u) << "what only one of them knows is not compared";
  EXPECT_EQ(changes[0].difference, (Difference{"loss", "mse", "mae"}));
  EXPECT_EQ(changes[0].may_change, MayChange::kNever);
  EXPECT_EQ(changes[0].other_metrics, OtherMetrics::kAll);
  EXPECT_EQ(changes[0].of_scheduler, "early_stopping");
}

}  // namespace
}  // namespace dtnn
