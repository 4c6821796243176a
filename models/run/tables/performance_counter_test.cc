#include "models/run/tables/performance_counter.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

class PerformanceCounterTest : public ::testing::Test {
 protected:
  // Batches of 10 samples that take so many seconds each, and one to wait for each.
  void RunPass(Pass::Kind kind, const std::vector<double>& seconds, int64_t done_before = 0,
               double others = 0) {
    Pass pass{.kind = kind, .steps = int64_t(seconds.size()), .done = done_before};
    ASSERT_TRUE(counter_.OnPassBegin(pass).ok());
    for (const double batch : seconds) {
      now_ += 1;
      ASSERT_TRUE(counter_.OnBatchBegin(pass).ok());
      now_ += batch;
      memory_ += 2;
      ++pass.step;
      pass.done += 10;
      ASSERT_TRUE(counter_.OnBatchEnd(pass).ok());
    }
    now_ += others;  // until the last rank is done
    ASSERT_TRUE(counter_.OnPassEnd(pass).ok());
  }

  double now_ = 100, memory_ = 50;
  PerformanceCounter counter_{
      {.seconds = [this] { return now_; }, .mebibytes = [this] { return memory_; }}};
};

TEST_F(PerformanceCounterTest, TellsTimeThroughputEstimateAndMemory) {
  RunPass(Pass::Kind::kTraining, {4, 2, 1});     // the last two: 4.5 s in all
  RunPass(Pass::Kind::kValidation, {100, 100});  // no part of it
  RunPass(Pass::Kind::kTraining, {2, 2, 1, 1});  // the last two: 4 s in all
  RunPass(Pass::Kind::kTest, {2.5, 0.5});
  EXPECT_EQ(counter_.Report(),
            "+-------------------------------------+\n"
            "| Performance counter training report |\n"
            "+-------------------------------------+\n"
            "Training time (from model): 13.0000 s\n"
            "Training time per epoch (from model): 6.5000 s\n"
            "Training throughput (from model): 5.3846 samples/s, steps only\n"
            "Training time (estimated from the last half of each epoch): 8.5000 s\n"
            "Training throughput (estimated from the last half of each epoch): 8.2353 samples/s, "
            "warmed up\n"
            "Training maximum memory: 68.00 MiB\n"
            "Training mean memory: 60.29 MiB\n"
            "+------------------------------------+\n"
            "| Performance counter testing report |\n"
            "+------------------------------------+\n"
            "Testing time (from model): 3.0000 s\n"
            "Testing time per epoch (from model): 3.0000 s\n"
            "Testing throughput (from model): 6.6667 samples/s, steps only\n"
            "Testing time (estimated from the last half of each epoch): 1.0000 s\n"
            "Testing throughput (estimated from the last half of each epoch): 20.0000 samples/s, "
            "warmed up\n"
            "Testing maximum memory: 72.00 MiB\n"
            "Testing mean memory: 71.00 MiB\n");
}

// training.steps_per_epoch is what the user says.
TEST_F(PerformanceCounterTest, AnEpochsLengthTakesNoMemory) {
  EXPECT_TRUE(counter_.OnPassBegin({.steps = int64_t{1} << 62}).ok());
}

TEST_F(PerformanceCounterTest, SamplesOfAnEpochThatWasBegunBeforeDoNotCount) {
  RunPass(Pass::Kind::kTraining, {1, 1}, /*done_before=*/1000);
  EXPECT_NE(counter_.Report().find("Training throughput (from model): 10.0000 samples/s"),
            std::string::npos)
      << counter_.Report();
}

TEST_F(PerformanceCounterTest, ATestTakesAsLongAsTheLastRank) {
  RunPass(Pass::Kind::kTest, {1, 1}, 0, /*others=*/6);
  RunPass(Pass::Kind::kTraining, {1, 1}, 0, /*others=*/6);  // whose steps wait for each other
  const std::string report = counter_.Report();
  for (const char* const line : {"Testing throughput (from model): 2.5000 samples/s",
                                 "Testing throughput (estimated from the last half of each epoch): "
                                 "2.5000 samples/s",
                                 "Training throughput (from model): 10.0000 samples/s"}) {
    EXPECT_NE(report.find(line), std::string::npos) << report;
  }
}

TEST_F(PerformanceCounterTest, ATestWithoutBatchesTakesNoTime) {
  RunPass(Pass::Kind::kTraining, {1});
  RunPass(Pass::Kind::kTest, {}, 0, /*others=*/6);
  RunPass(Pass::Kind::kTest, {1, 1});
  const std::string report = counter_.Report();
  EXPECT_NE(report.find("Testing throughput (from model): 10.0000 samples/s"), std::string::npos)
      << report;
}

TEST_F(PerformanceCounterTest, NothingIsSaidOfNothing) {
  EXPECT_EQ(counter_.Report(), "");
  RunPass(Pass::Kind::kTraining, {});
  RunPass(Pass::Kind::kValidation, {1});
  EXPECT_EQ(counter_.Report(), "");
}

TEST(PerformanceCounterOfTheProcessTest, TakesTimeAndMemory) {
  PerformanceCounter counter;
  const Pass begin{.kind = Pass::Kind::kTest, .steps = 1};
  const Pass end{.kind = Pass::Kind::kTest, .step = 1, .steps = 1, .done = 5};
  ASSERT_TRUE(counter.OnPassBegin(begin).ok());
  ASSERT_TRUE(counter.OnBatchBegin(begin).ok());
  ASSERT_TRUE(counter.OnBatchEnd(end).ok());
  ASSERT_TRUE(counter.OnPassEnd(end).ok());
  const std::string report = counter.Report();
  EXPECT_EQ(report.find("memory: 0.00 MiB"), report.npos) << report;
  EXPECT_EQ(report.find("throughput (from model): 0.0000"), report.npos) << report;
}

}  // namespace
}  // namespace dtnn
