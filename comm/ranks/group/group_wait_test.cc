#include "comm/ranks/group/group_wait.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Clock = GroupWait::Clock;
using Kind = ControlMessage::Kind;

constexpr milliseconds kTimeout(6000), kStep(10);

// Ranks of one program, in a time of their own; messages take one step of it.
class Ranks {
 public:
  explicit Ranks(int size, const CommunicatorOptions& options = {}) : options_(options) {
    for (int rank = 0; rank < size; ++rank) {
      groups_.push_back(std::make_unique<Group>(
          1, rank, size, options_, [this, rank](int to, const ControlMessage& message) {
            ++sent_[message.kind];
            on_their_way_.push_back({rank, to, message});
          }));
    }
    waits_.resize(size_t(size));
  }

  Group& group(int rank) { return *groups_[size_t(rank)]; }
  void Kill(int rank) {
    dead_.insert(rank);
    waits_[size_t(rank)] = nullptr;
  }

  // The rank calls a barrier and waits for it.
  std::shared_ptr<Operation> Wait(int rank) {
    const auto operation = group(rank).Call({.timeout = kTimeout});
    waits_[size_t(rank)] = std::make_unique<GroupWait>(group(rank), *operation, options_, now_);
    operations_.push_back(operation);
    return operation;
  }

  void Run(milliseconds time, const std::set<int>& stopped = {}) {
    for (const Clock::time_point end = now_ + time; now_ < end; now_ += kStep) {
      for (auto& [from, to, message] : std::exchange(on_their_way_, {})) {
        if (dead_.contains(to)) continue;
        group(to).Receive(from, message, now_);
      }
      for (size_t rank = 0; rank < waits_.size(); ++rank) {
        if (waits_[rank] == nullptr || !groups_[rank]->broken().ok() ||
            stopped.contains(int(rank))) {
          continue;
        }
        waits_[rank]->Look(now_);
        if (const std::string warning = waits_[rank]->TakeWarning(); !warning.empty()) {
          warnings_.push_back(warning);
        }
      }
    }
  }

  // Asked and answered, reports included.
  int questions() const {
    int sum = 0;
    for (const auto& [kind, count] : sent_) sum += kind <= Kind::kReport ? count : 0;
    return sum;
  }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Sent {
    int from, to;
    ControlMessage message;
  };
  const CommunicatorOptions options_;
  Clock::time_point now_{std::chrono::hours(1)};
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<GroupWait>> waits_;
  std::vector<std::shared_ptr<Operation>> operations_;
  std::vector<Sent> on_their_way_;
  std::set<int> dead_;
  std::map<Kind, int> sent_;
  std::vector<std::string> warnings_;
};

TEST(GroupWaitTest, WhoDoesNotAnswerIsLostAndWhoAnswersIsNot) {
  // The last case: the coordinator, and all others of its host.
  for (const std::set<int>& lost : {std::set<int>{7}, {2, 3}, {0}, {0, 1, 2, 3}}) {
    Ranks ranks(8);
    for (const int rank : lost) ranks.Kill(rank);
    for (int rank = 0; rank < 8; ++rank) {
      if (!lost.contains(rank)) ranks.Wait(rank);
    }
    ranks.Run(kTimeout - kStep);
    EXPECT_TRUE(ranks.group(7).broken().ok());
    ranks.Run(milliseconds(100));
    for (int rank = 0; rank < 8; ++rank) {
      if (lost.contains(rank)) continue;
      const Group& group = ranks.group(rank);
      EXPECT_EQ(group.broken().code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_EQ(group.lost(), std::vector<int>(lost.begin(), lost.end())) << "rank " << rank;
      EXPECT_THAT(std::string(group.broken().message()), HasSubstr("not answer (dead or frozen)"));
    }
  }
}

TEST(GroupWaitTest, WhoAnswersButDoesNotCallIsNamedAsLate) {
  for (const int late : {0, 3, 7}) {
    Ranks ranks(8);
    for (int rank = 0; rank < 8; ++rank) {
      if (rank != late) ranks.Wait(rank);
    }
    ranks.Run(kTimeout + milliseconds(100));
    for (int rank = 0; rank < 8; ++rank) {
      EXPECT_EQ(ranks.group(rank).lost(), std::vector<int>{late});
    }
    EXPECT_THAT(std::string(ranks.group(5).broken().message()),
                HasSubstr("rank " + std::to_string(late) + ", which did not call it"));
  }
}

int QuestionsOf(int size, const std::set<int>& dead) {
  Ranks ranks(size);
  for (const int rank : dead) ranks.Kill(rank);
  for (int rank = 0; rank + 1 < size; ++rank) {
    if (!dead.contains(rank)) ranks.Wait(rank);
  }
  ranks.Run(kTimeout + milliseconds(100));
  EXPECT_EQ(ranks.group(size / 2).lost().size(), dead.size() + 1);
  return ranks.questions();
}

TEST(GroupWaitTest, QuestionsGrowLikeTheRanksNotLikeTheirSquare) {
  const int few = QuestionsOf(16, {}), many = QuestionsOf(128, {});
  EXPECT_LE(many, 10 * few) << few << " questions of 16 ranks, " << many << " of 128";
  EXPECT_LE(QuestionsOf(128, {5}), 10 * few);
}

TEST(GroupWaitTest, AfterAnErrorOfMpiTheLostAreFoundSoon) {
  Ranks ranks(4);
  for (const int rank : {0, 1}) ranks.Kill(rank);
  const auto operation = ranks.Wait(2);
  ranks.Run(milliseconds(50));
  ranks.group(2).Fail(operation, absl::UnavailableError("the connection was closed"));
  ranks.Run(kTimeout / 2 + milliseconds(50));
  EXPECT_EQ(ranks.group(2).broken().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ranks.group(2).lost(), std::vector<int>({0, 1}));
  EXPECT_EQ(ranks.group(3).lost(), std::vector<int>({0, 1})) << "though it computes";
  EXPECT_THAT(std::string(ranks.group(3).broken().message()),
              HasSubstr("the connection was closed; lost: ranks 0, 1, which do not answer"));
}

TEST(GroupWaitTest, AnErrorOfMpiEndsTheWaitsForEarlierAndLaterCallsToo) {
  for (const bool later : {false, true}) {
    Ranks ranks(4);
    ranks.Kill(1);
    if (!later) ranks.Wait(2);
    // To a rank that no wait for a collective call would ask for otherwise.
    const auto send = ranks.group(2).Call(
        {.kind = CollectiveKind::kSend, .root = 1, .timeout = kTimeout}, "message");
    ranks.Run(milliseconds(50));
    ranks.group(2).Fail(send, absl::UnavailableError("the connection was closed"));
    if (later) ranks.Wait(2);
    ranks.Run(kTimeout / 2 + milliseconds(50));
    EXPECT_EQ(ranks.group(2).lost(), std::vector<int>{1});
    EXPECT_THAT(std::string(ranks.group(2).broken().message()),
                HasSubstr("message: rank 2: the connection was closed; lost: rank 1, which"));
  }
}

TEST(GroupWaitTest, AnErrorOfMpiLosesNobodyWhoAnswers) {
  Ranks ranks(4);
  ranks.group(3).Fail(ranks.Wait(3), absl::UnavailableError("out of registers"));
  ranks.Run(kTimeout);
  EXPECT_EQ(ranks.group(3).broken().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ranks.group(3).lost(), ::testing::IsEmpty());
}

TEST(GroupWaitTest, AnInterruptedRankWaitsForTheSlowButNotForTheDead) {
  bool interrupted = false;
  CommunicatorOptions options;
  options.interrupted = [&] { return interrupted; };
  for (const bool dead : {false, true}) {
    interrupted = false;
    Ranks ranks(3, options);
    if (dead) ranks.Kill(1);
    ranks.Wait(0);
    ranks.Wait(2);
    ranks.Run(milliseconds(100));
    interrupted = true;
    ranks.Run(3 * options.grace);
    for (const int rank : {0, 2}) {
      const Group& group = ranks.group(rank);
      EXPECT_EQ(group.broken().code(),
                dead ? absl::StatusCode::kUnavailable : absl::StatusCode::kOk);
      EXPECT_EQ(group.lost(), dead ? std::vector<int>{1} : std::vector<int>{});
    }
  }
}

// However long it was stopped itself, it asks no longer than half of the grace before that begins.
TEST(GroupWaitTest, AnInterruptedRankThatWasStoppedEndsInTime) {
  bool interrupted = false;
  CommunicatorOptions options;
  options.interrupted = [&] { return interrupted; };
  options.grace = milliseconds(200);
  Ranks ranks(3, options);
  ranks.Kill(1);
  ranks.Wait(0);
  ranks.Run(milliseconds(100));
  interrupted = true;
  ranks.Run(milliseconds(2000), /*stopped=*/{0});
  EXPECT_TRUE(ranks.group(0).broken().ok());
  ranks.Run(milliseconds(600));
  EXPECT_EQ(ranks.group(0).lost(), std::vector<int>{1});
}

// What the coordinator has reported before it was lost is old, and says nothing of itself.
TEST(GroupWaitTest, ACoordinatorThatIsLostLaterIsNamedToo) {
  Ranks ranks(4);
  for (const int rank : {0, 1, 2}) ranks.Wait(rank);
  ranks.Run(kTimeout / 2 + milliseconds(500));
  ranks.Kill(0);
  ranks.Run(kTimeout / 2);
  for (const int rank : {1, 2}) {
    EXPECT_EQ(ranks.group(rank).lost(), std::vector<int>({0, 3}));
    EXPECT_THAT(std::string(ranks.group(rank).broken().message()),
                HasSubstr("for rank 3, which did not call it, and for rank 0, which does not"));
  }
}

TEST(GroupWaitTest, AMissingMessageIsAskedForWhereItShouldComeFrom) {
  Ranks ranks(8);
  const auto receive = ranks.group(5).Call(
      {.kind = CollectiveKind::kReceive, .root = 6, .timeout = kTimeout}, "message");
  GroupWait wait(ranks.group(5), *receive, ranks.group(5).options(), Clock::time_point());
  ranks.Kill(6);
  for (milliseconds at(0); at <= kTimeout; at += kStep) wait.Look(Clock::time_point(at));
  EXPECT_EQ(ranks.group(5).lost(), std::vector<int>{6});
  EXPECT_LE(ranks.questions(), 20);
}

TEST(GroupWaitTest, ARankThatWasStoppedItselfAsksBeforeItGivesUp) {
  Ranks ranks(4);
  ranks.Wait(1);
  ranks.Run(milliseconds(1000));
  ranks.Run(2 * kTimeout, /*stopped=*/{1});
  ranks.Run(milliseconds(100));
  EXPECT_TRUE(ranks.group(1).broken().ok()) << ranks.group(1).broken();
  EXPECT_GT(ranks.questions(), 0);
}

TEST(GroupWaitTest, AWaitIsWarnedAboutOnce) {
  CommunicatorOptions options;
  options.warn = [](std::string_view) {};
  options.warn_after = kTimeout / 2;
  Ranks ranks(3, options);
  ranks.Wait(0);
  ranks.Wait(1);
  ranks.Run(kTimeout - kStep);
  EXPECT_EQ(ranks.warnings().size(), 2u);
  for (const std::string& warning : ranks.warnings()) {
    EXPECT_THAT(warning, HasSubstr("has waited 3000 ms for rank 2, which did not call it; gives "
                                   "up in 3000 ms"));
  }
}

TEST(GroupWaitTest, ARankThatLeftIsMissedAtOnceAndItsCodeKept) {
  Ranks ranks(3);
  ranks.Wait(0);
  ranks.group(1).set_departure_code(5);
  ranks.group(1).Leave();
  ranks.Run(2 * kStep);
  EXPECT_EQ(ranks.group(0).broken().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ranks.group(0).lost(), std::vector<int>{1});
  EXPECT_EQ(ranks.group(0).departure_code(1), 5);
  EXPECT_EQ(ranks.group(0).departure_code(2), std::nullopt);
}

}  // namespace
}  // namespace dtnn
