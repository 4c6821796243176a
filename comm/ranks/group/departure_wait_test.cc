#include "comm/ranks/group/departure_wait.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using Clock = DepartureWait::Clock;

constexpr milliseconds kTimeout(60'000), kSilence(5000), kStep(10);

// Two ranks in a time of their own; messages take one step of it, unless they are lost.
class TwoRanks {
 public:
  TwoRanks() {
    for (int rank = 0; rank < 2; ++rank) {
      groups_.push_back(std::make_unique<Group>(1, rank, 2, CommunicatorOptions(),
                                                [this](int to, const ControlMessage& message) {
                                                  on_their_way_.emplace_back(to, message);
                                                }));
    }
  }

  Group& asking() { return *groups_[0]; }
  Group& asked() { return *groups_[1]; }
  Clock::time_point now() const { return now_; }
  void Await() { wait_.emplace(asking(), 1, kTimeout, now_); }
  bool over() const { return wait_->over(); }
  void LoseMessages() { on_their_way_.clear(); }
  // Both ranks are stopped, with what is on its way between them.
  void Stop(milliseconds time) { now_ += time; }

  void Run(milliseconds time, bool answers = true) {
    for (const Clock::time_point end = now_ + time; now_ < end; now_ += kStep) {
      for (auto& [to, message] : std::exchange(on_their_way_, {})) {
        if (to == 0 || answers) groups_[size_t(to)]->Receive(1 - to, message, now_);
      }
      if (wait_ && !wait_->over() && now_ >= next_) next_ = wait_->Look(now_);
    }
  }

 private:
  Clock::time_point now_{std::chrono::hours(1)}, next_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::pair<int, ControlMessage>> on_their_way_;
  std::optional<DepartureWait> wait_;
};

TEST(DepartureWaitTest, WhoAnswersIsWaitedForUntilItLeaves) {
  TwoRanks ranks;
  ranks.Await();
  ranks.Run(kTimeout / 2);
  EXPECT_FALSE(ranks.over());
  ranks.asked().set_departure_code(5);
  ranks.asked().Leave();
  ranks.Run(2 * kStep);
  EXPECT_TRUE(ranks.over());
  EXPECT_EQ(ranks.asking().departure_code(1), 5);
}

TEST(DepartureWaitTest, WhoAnswersButDoesNotLeaveIsWaitedForUntilTheTimeIsUp) {
  TwoRanks ranks;
  ranks.Await();
  ranks.Run(kTimeout);
  EXPECT_FALSE(ranks.over());
  ranks.Run(2 * kStep);
  EXPECT_TRUE(ranks.over());
}

TEST(DepartureWaitTest, SilenceCountsFromTheWaitsOwnFirstQuestion) {
  TwoRanks ranks;
  // Asked long ago, and the answer was lost.
  ranks.asking().AskOne(1, ranks.now());
  ranks.LoseMessages();
  ranks.Run(2 * kSilence);
  ranks.Await();
  ranks.Run(kSilence - milliseconds(500), /*answers=*/false);
  EXPECT_FALSE(ranks.over());
  ranks.Run(milliseconds(1000), /*answers=*/false);
  EXPECT_TRUE(ranks.over());
}

TEST(DepartureWaitTest, ARankThatWasStoppedItselfAsksAnew) {
  TwoRanks ranks;
  ranks.Await();
  ranks.Run(kSilence / 2, /*answers=*/false);
  ranks.Stop(2 * kTimeout);
  ranks.LoseMessages();
  ranks.Run(kTimeout / 3);
  EXPECT_FALSE(ranks.over());
}

TEST(DepartureWaitTest, ARankThatMissedTheDepartureGetsItAgain) {
  TwoRanks ranks;
  ranks.asked().set_departure_code(5);
  ranks.asked().Leave();
  ranks.LoseMessages();
  ranks.Await();
  ranks.Run(4 * kStep);
  EXPECT_TRUE(ranks.over());
  EXPECT_EQ(ranks.asking().departure_code(1), 5);
}

}  // namespace
}  // namespace dtnn
