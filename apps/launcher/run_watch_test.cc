#include "apps/launcher/run_watch.h"

#include <string>

#include "apps/testing/two_samples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class RunWatchTest : public ::testing::Test {
 protected:
  Pass PassOf(Pass::Kind kind, int64_t epoch) const {
    Pass pass;
    pass.kind = kind;
    pass.epoch = epoch;
    pass.epochs = 3;
    pass.samples = 20;
    pass.averages = &averages_;
    return pass;
  }
  // Steps of two samples; `done` were done before.
  void Train(int64_t epoch, int64_t done, int steps) {
    Pass pass = PassOf(Pass::Kind::kTraining, epoch);
    pass.done = done;
    ASSERT_TRUE(watch_.OnPassBegin(pass).ok());
    for (int i = 0; i < steps; ++i) {
      pass.done += 2;
      ASSERT_TRUE(watch_.OnBatchEnd(pass).ok());
    }
    ASSERT_TRUE(watch_.OnPassEnd(pass).ok());
  }

  const MetricAverages averages_ = testing::TwoSamples({"categorical_accuracy"});
  RunWatch watch_;
};

TEST_F(RunWatchTest, CountsStepsSamplesAndEpochs) {
  watch_.OnRanks(4);
  EXPECT_EQ(json::parse(watch_.Status())["state"], "begins");
  Train(0, 6, 7);  // an epoch that continues
  const Pass validation = PassOf(Pass::Kind::kValidation, 0);
  ASSERT_TRUE(watch_.OnPassBegin(validation).ok());
  ASSERT_TRUE(watch_.OnBatchEnd(validation).ok());
  ASSERT_TRUE(watch_.OnPassEnd(validation).ok());
  ASSERT_TRUE(watch_.OnEpochEnd(PassOf(Pass::Kind::kTraining, 0), &validation).ok());
  const std::string text = watch_.Metrics();
  for (const char* line :
       {"\ndtnn_run_epochs_done 1\n", "\ndtnn_run_steps_total 7\n", "\ndtnn_run_samples_total 14\n",
        "\ndtnn_run_ranks 4\n", "\ndtnn_run_generations_total 1\n",
        "\ndtnn_run_metric{metric=\"categorical_accuracy\"} 50\n",
        "\ndtnn_run_metric{metric=\"val_categorical_accuracy\"} 50\n",
        "\ndtnn_run_pass_seconds_count{pass=\"training\"} 1\n",
        "\ndtnn_run_pass_seconds_count{pass=\"evaluation\"} 1\n",
        "\nprocess_resident_memory_bytes "}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr("dtnn_run_epochs 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("dtnn_run_round"))) << "it is not a client";
  const json status = json::parse(watch_.Status());
  EXPECT_EQ(status["state"], "validates");
  EXPECT_EQ(status["last_epochs"][0]["epoch"], 1);
  EXPECT_EQ(status["last_epochs"][0]["metrics"]["val_categorical_cross_entropy"], 0.75);
}

TEST_F(RunWatchTest, CountsChangesOfElasticRanks) {
  for (const int ranks : {4, 3, 5}) watch_.OnRanks(ranks);
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_run_ranks 5\n"));
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_run_generations_total 3\n"));
}

TEST_F(RunWatchTest, EpochsBeforeAResumedOneAreDoneAtItsBegin) {
  ASSERT_TRUE(watch_.OnPassBegin(PassOf(Pass::Kind::kTraining, 2)).ok());
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_run_epochs_done 2\n"));
}

// The trainer counts the epochs of all rounds.
TEST_F(RunWatchTest, AClientCountsEpochsWithinItsRound) {
  ASSERT_TRUE(watch_.OnRoundBegin(2, 9, 2).ok());
  ASSERT_TRUE(watch_.OnPassBegin(PassOf(Pass::Kind::kTraining, 2)).ok());
  EXPECT_THAT(watch_.Metrics(), HasSubstr("dtnn_run_epochs 1\n"));
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_run_epochs_done 0\n"));
}

TEST_F(RunWatchTest, WhatProtectionHidesIsNotReported) {
  RunWatch watch(/*hides_metrics=*/true);
  const Pass pass = PassOf(Pass::Kind::kTraining, 0);
  ASSERT_TRUE(watch.OnPassBegin(pass).ok());
  ASSERT_TRUE(watch.OnPassEnd(pass).ok());
  ASSERT_TRUE(watch.OnEpochEnd(pass, &pass).ok());
  EXPECT_THAT(watch.Metrics(), Not(HasSubstr("dtnn_run_metric{")));
  EXPECT_THAT(watch.Metrics(), HasSubstr("\ndtnn_run_epochs_done 1\n"));
  const json status = json::parse(watch.Status());
  EXPECT_TRUE(status["metrics"].empty());
  EXPECT_TRUE(status["last_epochs"][0]["metrics"].empty());
}

TEST_F(RunWatchTest, AClientKnowsItsRound) {
  ASSERT_TRUE(watch_.OnRoundBegin(2, 9, 1).ok());
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_run_round 2\n"));
  EXPECT_EQ(json::parse(watch_.Status())["rounds"], 9);
}

TEST_F(RunWatchTest, RemembersTheLastEpochs) {
  for (int64_t epoch = 0; epoch < 1100; ++epoch) {
    ASSERT_TRUE(watch_.OnEpochEnd(PassOf(Pass::Kind::kTraining, epoch), nullptr).ok());
  }
  const json epochs = json::parse(watch_.Status())["last_epochs"];
  EXPECT_EQ(epochs.size(), 1000u) << "as docs/clusters.md says";
  EXPECT_EQ(epochs.front()["epoch"], 101);
  EXPECT_EQ(epochs.back()["epoch"], 1100);
}

}  // namespace
}  // namespace dtnn
