#include "kernels/best_of/best_of.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Candidates whose calls take a time of one's own on a clock of one's own, and the order of the
// calls.
class Race {
 public:
  // `seconds`: of each call, and of all that follow the last.
  Race& Add(std::string name, std::vector<double> seconds) {
    const size_t lane = calls_.size();
    calls_.push_back(0);
    candidates_.push_back({name, [this, name, lane, seconds] {
                             const size_t call = std::min(calls_[lane]++, seconds.size() - 1);
                             const double took = seconds[call];
                             if (std::isnan(took)) {
                               jump_ = kNaN;
                             } else {
                               now_ += took;
                             }
                             absl::StrAppend(&order_, name);
                             return absl::OkStatus();
                           }});
    return *this;
  }
  Decision Run() {
    auto decision = FindFastest(candidates_, clock());
    EXPECT_TRUE(decision.ok()) << decision.status();
    return *decision;
  }
  BestOfClock clock() {
    return [this] { return now_ + std::exchange(jump_, 0.0); };
  }

  const std::vector<BestOfCandidate>& candidates() const { return candidates_; }
  const std::string& order() const { return order_; }

 private:
  std::vector<BestOfCandidate> candidates_;
  std::vector<size_t> calls_;
  std::string order_;
  double now_ = 0, jump_ = 0;
};

std::vector<std::string> Medians(const Decision& decision) {
  std::vector<std::string> lines;
  for (const CandidateTime& candidate : decision.candidates) {
    lines.push_back(absl::StrCat(
        candidate.name, " ",
        candidate.microseconds ? absl::StrCat(std::lround(*candidate.microseconds)) : "unknown"));
  }
  return lines;
}

TEST(FindFastestTest, CallsAreInterleavedAndTheFirstDoesNotCount) {
  Race race;
  race.Add("a", {9, 1.0}).Add("b", {1e-3, 0.9}).Add("c", {5, 1.1});
  const Decision decision = race.Run();
  EXPECT_EQ(race.order(), "abcabcabcabc");
  EXPECT_EQ(decision.chosen, "b");
  EXPECT_THAT(Medians(decision), ElementsAre("a 1000000", "b 900000", "c 1100000"));
}

// The clock stands still: what the candidates say of themselves counts.
TEST(FindFastestTest, CandidatesMayKnowTheirTimes) {
  std::string order;
  const auto candidate = [&](std::string name, double seconds) {
    return BestOfCandidate{name, [] { return absl::InternalError("not timed"); },
                           [&order, name, seconds]() -> absl::StatusOr<double> {
                             order += name;
                             return seconds;
                           }};
  };
  const std::vector<BestOfCandidate> candidates = {candidate("a", 1.1), candidate("b", 1.0),
                                                   candidate("c", 2.0)};
  const auto decision = FindFastest(candidates, [] { return 0.0; });
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_EQ(decision->chosen, "b");
  EXPECT_EQ(order, "abcabcabab");
  EXPECT_THAT(Medians(*decision), ElementsAre("a 1100000", "b 1000000", "c 2000000"));
}

TEST(FindFastestTest, TheMedianDecides) {
  Race race;
  // On average, and by their best calls, it would be the other way round.
  race.Add("a", {1, 1.0, 1.2, 1.2}).Add("b", {1, 1.1, 1.1, 90});
  EXPECT_EQ(race.Run().chosen, "b");
}

TEST(FindFastestTest, WhatIsMuchSlowerIsDropped) {
  Race race;
  race.Add("a", {1, 1.375}).Add("b", {1, 1.0}).Add("c", {1, 1.25}).Add("d", {1, 1.125, 3});
  const Decision decision = race.Run();
  EXPECT_EQ(decision.chosen, "b");
  EXPECT_EQ(race.order(),
            "abcd"
            "abcd"  // then a is dropped, and c is not
            "bcd"   // d: (1.125 + 3) / 2
            "bc");
  EXPECT_THAT(Medians(decision), ElementsAre("a 1375000", "b 1000000", "c 1250000", "d 2062500"));
}

TEST(FindFastestTest, TheLastOneLeftWinsAtOnce) {
  Race race;
  race.Add("a", {1, 2}).Add("b", {1, 1});
  EXPECT_EQ(race.Run().chosen, "b");
  EXPECT_EQ(race.order(), "abab");
}

TEST(FindFastestTest, NoneIsAnError) {
  EXPECT_EQ(FindFastest({}, SteadySeconds).status(),
            absl::InvalidArgumentError("there is no candidate to choose"));
}

TEST(FindFastestTest, OneAloneIsNotCalled) {
  Race race;
  race.Add("a", {1});
  const Decision decision = race.Run();
  EXPECT_EQ(decision.chosen, "a");
  EXPECT_EQ(race.order(), "");
  EXPECT_THAT(Medians(decision), ElementsAre("a unknown"));
  EXPECT_FALSE(FindFastest({}).ok());
}

TEST(FindFastestTest, TheFirstOfEqualsWins) {
  Race race;
  race.Add("a", {1, 1.5}).Add("b", {1, 1.25}).Add("c", {1, 1.25});
  EXPECT_EQ(race.Run().chosen, "b");
  Race stopped;  // a clock too coarse for all of them
  stopped.Add("a", {0}).Add("b", {0});
  EXPECT_EQ(stopped.Run().chosen, "a");
}

TEST(FindFastestTest, TimesThatAreNoneDoNotCount) {
  // A clock that was set back, or says nothing, does not make a candidate the fastest.
  Race race;
  race.Add("back", {1, -5, -5, -5}).Add("nan", {1, kNaN}).Add("b", {1, 3, 1.1, 1}).Add("c", {1, 2});
  const Decision decision = race.Run();
  EXPECT_EQ(decision.chosen, "c");
  EXPECT_THAT(Medians(decision),
              ElementsAre("back unknown", "nan unknown", "b 3000000", "c 2000000"));
  Race once;  // the other calls do count
  once.Add("a", {1, 1}).Add("b", {1, -1, 0.5, 0.5});
  EXPECT_EQ(once.Run().chosen, "b");
  Race blind;
  blind.Add("a", {kNaN}).Add("b", {kNaN}).Add("c", {-1});
  EXPECT_EQ(blind.Run().chosen, "a");
}

TEST(FindFastestTest, AFailedCallIsAnError) {
  const BestOfCandidate candidates[] = {
      {"a", [] { return absl::OkStatus(); }},
      {"b", [] { return absl::InternalError("broken"); }},
  };
  EXPECT_THAT(std::string(FindFastest(candidates).status().message()), "b: broken");
}

BestOfKey Key(std::string problem) {
  return {.operation = "op",
          .direction = "there",
          .problem = std::move(problem),
          .threads = 2,
          .machine = "AVX3@Other-1-2"};
}

TEST(BestOfTest, ADecisionIsMadeOnceAndStays) {
  Race race;
  race.Add("a", {1, 1}).Add("b", {1, 0.5, 9});  // later slower
  BestOf best_of({.clock = race.clock()});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*best_of.Choose(Key("x"), [&] { return race.candidates(); }), "b");
  }
  EXPECT_EQ(race.order(), "abab");
  EXPECT_EQ(*best_of.Choose(Key("y"), [&] { return race.candidates(); }), "a");
  EXPECT_EQ(best_of.timed(), 2);
  EXPECT_EQ(best_of.uses().at(Key("x")), 3);
  EXPECT_EQ(best_of.uses().at(Key("y")), 1);
}

TEST(BestOfTest, KnownDecisionsAreNotTimed) {
  Decisions known;
  known.Add(Key("x"), {.chosen = "b", .candidates = {{"a", 1}, {"b", 2}}});
  BestOf best_of({.known = known});
  const auto none = [] { return absl::InternalError("was timed"); };
  EXPECT_EQ(*best_of.Choose(Key("x"), none), "b");
  EXPECT_EQ(best_of.timed(), 0);
  // What cannot be timed decides nothing.
  EXPECT_EQ(best_of.Choose(Key("y"), none).status(), absl::InternalError("was timed"));
  EXPECT_EQ(best_of.decisions().Find(Key("y")), nullptr);
  EXPECT_EQ(best_of.uses().count(Key("y")), 0u);
}

TEST(BestOfTest, DecisionsOfOthersGoBeforeItsOwn) {
  const BestOfKey x = BestOfKey::Here("op", "there", "x"), y = BestOfKey::Here("op", "there", "y");
  Decisions mine, theirs;
  mine.Add(x, {.chosen = "a", .candidates = {{"a", 1}}});
  mine.Add(y, {.chosen = "a", .candidates = {{"a", 1}}});
  theirs.Add(Key("x"), {.chosen = "b", .candidates = {{"b", 1}}});  // of another machine
  BestOf best_of({.known = mine});
  best_of.Adopt(theirs);
  EXPECT_EQ(best_of.decisions().Find(x)->chosen, "b");
  EXPECT_EQ(best_of.decisions().Find(y)->chosen, "a");
}

TEST(BestOfTest, TheSystemsClockGoesForward) {
  const double before = SteadySeconds();
  EXPECT_GE(SteadySeconds(), before);
}

}  // namespace
}  // namespace dtnn
