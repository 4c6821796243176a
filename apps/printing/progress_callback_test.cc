#include "apps/printing/progress_callback.h"

#include <algorithm>
#include <sstream>

#include "apps/testing/two_samples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TwoSamples;

class ProgressCallbackTest : public ::testing::Test {
 protected:
  std::ostringstream out_;
  ProgressCallback progress_{{}, out_};
};

TEST_F(ProgressCallbackTest, MatricesStandBelowTheirEpoch) {
  const MetricAverages trained =
      TwoSamples({"categorical_accuracy", "multiclass_confusion_matrix"});
  const Pass pass{.samples = 2, .done = 2, .averages = &trained};
  ASSERT_TRUE(progress_.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress_.OnBatchEnd(pass).ok());
  ASSERT_TRUE(progress_.OnEpochEnd(pass, &pass).ok());
  const std::string text = out_.str();
  EXPECT_THAT(text, HasSubstr("cce: 0.7500000, acc: 50.00%, val_cce: 0.7500000"));
  const size_t matrix = text.find("\nmulticlass_confusion_matrix");
  EXPECT_NE(matrix, text.npos) << text;
  EXPECT_NE(text.find("\nval_multiclass_confusion_matrix", matrix), text.npos) << text;
}

TEST_F(ProgressCallbackTest, EpsilonStandsAtTheEndOfItsEpoch) {
  const MetricAverages trained = TwoSamples({});
  const Pass pass{.samples = 2, .done = 2, .epsilon = 1.24991, .averages = &trained};
  ASSERT_TRUE(progress_.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress_.OnEpochEnd(pass, &pass).ok());
  EXPECT_THAT(out_.str(), HasSubstr("val_cce: 0.7500000, dp_epsilon: 1.2500"));
}

// The trainer counts the epochs of all rounds.
TEST_F(ProgressCallbackTest, AClientOfAFederationCountsEpochsWithinTheRound) {
  const MetricAverages averages = TwoSamples({});
  const auto line = [&](int64_t round, Pass pass) {
    out_.str("");
    pass.samples = pass.done = 2;
    pass.averages = &averages;
    EXPECT_TRUE(progress_.OnRoundBegin(round, 10, 2 * (round - 1)).ok());
    EXPECT_TRUE(progress_.OnPassBegin(pass).ok());
    EXPECT_TRUE(progress_.OnEpochEnd(pass, nullptr).ok());
    return out_.str();
  };
  EXPECT_THAT(line(1, {.epoch = 0, .epochs = 2}), StartsWith("Round  1/10, epoch 1/2: "));
  EXPECT_THAT(line(3, {.epoch = 5, .epochs = 6}), StartsWith("Round  3/10, epoch 2/2: "));
}

// Rank 0 is done with its share after a second, the last rank after four.
TEST_F(ProgressCallbackTest, ATestTakesAsLongAsTheLastRank) {
  double now = 5;
  ProgressCallback progress({.clock = [&] { return now; }}, out_);
  const MetricAverages averages = TwoSamples({});
  Pass pass{.kind = Pass::Kind::kTest, .samples = 100, .averages = &averages};
  ASSERT_TRUE(progress.OnPassBegin(pass).ok());
  now += 1;
  pass.done = 100;
  ASSERT_TRUE(progress.OnBatchEnd(pass).ok());
  now += 3;
  ASSERT_TRUE(progress.OnPassEnd(pass).ok());
  EXPECT_THAT(out_.str(), HasSubstr("100/100 [00:04<00:00, 25.00 samples/s, "));
}

// Epochs of 100 samples that take 10 seconds and 2 for what comes after.
TEST_F(ProgressCallbackTest, TheBarSaysWhatTheRunWillTakeYet) {
  double now = 5;
  ProgressCallback progress(
      {.display = {.live = true, .columns = 200, .unicode = false}, .clock = [&] { return now; }},
      out_);
  const MetricAverages averages = TwoSamples({});
  const auto epoch = [&](int64_t number, int64_t before) {
    Pass pass{.epoch = number, .epochs = 3, .samples = 100, .done = before, .averages = &averages};
    ASSERT_TRUE(progress.OnPassBegin(pass).ok());
    for (int64_t done = before + 25; done <= 100; done += 25) {
      now += 2.5;
      pass.done = done;
      ASSERT_TRUE(progress.OnBatchEnd(pass).ok());
    }
    now += 2;
    ASSERT_TRUE(progress.OnEpochEnd(pass, nullptr).ok());
  };
  const auto drawn = [&](const std::string& text) {
    const bool found = out_.str().find(text) != std::string::npos;
    EXPECT_TRUE(found) << text << "\n" << out_.str();
  };
  epoch(0, 50);                                    // interrupted before
  drawn("75/100 [00:02<00:03, run 00:23 left, ");  // 25 + 2 * 100 samples of 0.1 s each
  out_.str("");
  epoch(1, 0);
  drawn(
      " 25/100 [00:02<00:08, run 00:18 left, ");  // 75 + 100 samples: no epoch is known as a whole
  out_.str("");
  epoch(2, 0);
  drawn(" 25/100 [00:02<00:08, 10.00 samples/s, ");  // the last
  EXPECT_EQ(out_.str().find("left"), std::string::npos);
  out_.str("");
  ProgressCallback whole(
      {.display = {.live = true, .columns = 200, .unicode = false}, .clock = [&] { return now; }},
      out_);
  Pass pass{.epochs = 4, .samples = 10, .averages = &averages};
  for (pass.epoch = 0; pass.epoch < 2; ++pass.epoch) {
    pass.done = 0;
    ASSERT_TRUE(whole.OnPassBegin(pass).ok());
    now += 10;
    pass.done = 10;
    ASSERT_TRUE(whole.OnBatchEnd(pass).ok());
    now += 30;
    ASSERT_TRUE(whole.OnEpochEnd(pass, nullptr).ok());
  }
  drawn("10/10 [00:10<00:00, run 00:30 left, ");  // 3 epochs of 10 s
  drawn("10/10 [00:10<00:00, run 01:50 left, ");  // 30 s of this one, and 2 of 40 s
}

TEST_F(ProgressCallbackTest, EpochsCanBeKeptBack) {
  ProgressCallback progress({.epochs = false}, out_);
  const MetricAverages some = TwoSamples({"multiclass_confusion_matrix"});
  Pass pass{.samples = 2, .done = 2, .averages = &some};
  ASSERT_TRUE(progress.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress.OnBatchEnd(pass).ok());
  ASSERT_TRUE(progress.OnPassEnd(pass).ok());
  ASSERT_TRUE(progress.OnEpochEnd(pass, &pass).ok());
  EXPECT_EQ(out_.str(), "");
  pass.kind = Pass::Kind::kTest;
  ASSERT_TRUE(progress.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress.OnPassEnd(pass).ok());
  EXPECT_THAT(out_.str(), HasSubstr("Testing: "));
}

TEST_F(ProgressCallbackTest, AndBelowATest) {
  const MetricAverages tested = TwoSamples({"multiclass_confusion_matrix"});
  const Pass pass{.kind = Pass::Kind::kTest, .samples = 2, .done = 2, .averages = &tested};
  ASSERT_TRUE(progress_.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress_.OnPassEnd(pass).ok());
  EXPECT_THAT(out_.str(), HasSubstr("\ntest_multiclass_confusion_matrix"));
}

TEST_F(ProgressCallbackTest, MetricsThatAreNumbersStandInTheLineAlone) {
  const MetricAverages tested = TwoSamples({"categorical_accuracy"});
  const Pass pass{.kind = Pass::Kind::kTest, .samples = 2, .done = 2, .averages = &tested};
  ASSERT_TRUE(progress_.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress_.OnPassEnd(pass).ok());
  EXPECT_THAT(out_.str(), HasSubstr("test_acc: 50.00%"));
  EXPECT_EQ(std::ranges::count(out_.str(), '\n'), 1);
}

}  // namespace
}  // namespace dtnn
