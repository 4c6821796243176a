#include "comm/patience.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using Verdict = Patience::Verdict;

constexpr Patience::Clock::time_point kStart{std::chrono::hours(1)};

Patience::Clock::time_point At(int ms) { return kStart + milliseconds(ms); }

TEST(PatienceTest, WarnsOnceAndThenTimesOut) {
  CommunicatorOptions options;
  options.warn = [](std::string_view) {};
  options.warn_after = milliseconds(40);
  Patience patience(options, milliseconds(100), kStart);
  EXPECT_EQ(patience.Next(At(0)), At(40));
  EXPECT_EQ(patience.Ask(At(39)), Verdict::kGoOn);
  EXPECT_EQ(patience.Ask(At(40)), Verdict::kWarn);
  EXPECT_EQ(patience.Ask(At(99)), Verdict::kGoOn);
  EXPECT_EQ(patience.Next(At(41)), At(100));
  EXPECT_EQ(patience.Ask(At(100)), Verdict::kTimedOut);
  EXPECT_EQ(patience.Waited(At(60)), milliseconds(60));
  EXPECT_EQ(patience.Waited(At(102)), milliseconds(100));
  EXPECT_EQ(patience.Left(At(60)), milliseconds(40));
}

TEST(PatienceTest, NobodyToTellIsNotWarned) {
  CommunicatorOptions options;
  options.warn_after = milliseconds(40);
  Patience patience(options, milliseconds(100), kStart);
  EXPECT_EQ(patience.Ask(At(50)), Verdict::kGoOn);
}

TEST(PatienceTest, AnInterruptionLeavesTheGraceAndNoMore) {
  bool interrupted = false;
  CommunicatorOptions options;
  options.interrupted = [&] { return interrupted; };
  options.grace = milliseconds(30);
  Patience patience(options, milliseconds(1000), kStart);
  EXPECT_EQ(patience.Ask(At(500)), Verdict::kGoOn);
  EXPECT_LE(patience.Next(At(500)), At(550)) << "an interruption is noticed soon";
  interrupted = true;
  EXPECT_EQ(patience.Ask(At(600)), Verdict::kGoOn);
  EXPECT_EQ(patience.Next(At(600)), At(630));
  EXPECT_EQ(patience.NextVerdict(), At(630));
  EXPECT_EQ(patience.Ask(At(629)), Verdict::kGoOn);
  EXPECT_EQ(patience.Ask(At(630)), Verdict::kInterrupted);
  EXPECT_EQ(patience.Ask(At(999)), Verdict::kInterrupted);
  EXPECT_EQ(patience.Ask(At(1000)), Verdict::kTimedOut);
}

TEST(PatienceTest, TheLongestTimeoutIsNoOverflow) {
  CommunicatorOptions options;
  options.warn = [](std::string_view) {};
  options.warn_after = milliseconds::max();
  Patience patience(options, milliseconds::max(), kStart);
  EXPECT_EQ(patience.Ask(At(1'000'000)), Verdict::kGoOn);
  EXPECT_GT(patience.Next(At(0)), At(1'000'000));
}

TEST(PatienceTest, TimesAndRanksAreWrittenOut) {
  EXPECT_EQ(ToString(milliseconds(250)), "250 ms");
  EXPECT_EQ(ToString(milliseconds(59'999)), "60 s");
  EXPECT_EQ(ToString(milliseconds(9999)), "9999 ms");
  EXPECT_EQ(ToString(milliseconds(10'000)), "10 s");
  EXPECT_EQ(ToString(milliseconds(10'499)), "10 s");
  EXPECT_EQ(ToString(milliseconds(10'500)), "11 s");
  EXPECT_EQ(RankList({4}), "rank 4");
  EXPECT_EQ(RankList({1, 3}), "ranks 1, 3");
}

// A rank that answers after an interruption has the grace anew.
TEST(PatienceTest, TheGraceBeginsAgain) {
  CommunicatorOptions options;
  options.interrupted = [] { return true; };
  options.grace = milliseconds(30);
  Patience patience(options, milliseconds(1000), kStart);
  EXPECT_EQ(patience.Ask(At(0)), Verdict::kGoOn);
  patience.GoOn(At(20));
  EXPECT_EQ(patience.Ask(At(49)), Verdict::kGoOn);
  EXPECT_EQ(patience.Next(At(49)), At(50)) << "without asking again";
  EXPECT_EQ(patience.Ask(At(50)), Verdict::kInterrupted);
}

TEST(PatienceTest, TheEarliestOfAllEndsIsWaitedFor) {
  CommunicatorOptions options;
  options.interrupted = [] { return false; };
  options.warn = [](std::string_view) {};
  options.warn_after = milliseconds(40);
  Patience patience(options, milliseconds(100), kStart);
  EXPECT_EQ(patience.Next(At(0)), At(20)) << "to look for an interruption";
  EXPECT_EQ(patience.Next(At(30)), At(40)) << "to warn";
  EXPECT_EQ(patience.NextVerdict(), At(40));
  EXPECT_EQ(patience.Ask(At(40)), Verdict::kWarn);
  EXPECT_EQ(patience.Next(At(90)), At(100)) << "to give up";
  EXPECT_EQ(patience.Left(At(40)), milliseconds(60));
}

}  // namespace
}  // namespace dtnn
