#include "comm/wait.h"

#include <string>
#include <vector>

#include "comm/descriptors/wakeup.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

// Time passes only in sleeps.
class WaitTest : public ::testing::Test {
 protected:
  WaitTest() {
    options_ = {.timeout = milliseconds(1000),
                .warn_after = milliseconds(400),
                .warn = [this](std::string_view line) { warnings_.emplace_back(line); },
                .interrupted = [this] { return now_ >= interrupted_at_; },
                .grace = milliseconds(100)};
  }

  static Wait::Clock::time_point At(int ms) {
    return Wait::Clock::time_point(std::chrono::hours(1)) + milliseconds(ms);
  }
  absl::StatusOr<bool> Until(Wait& wait, Wait::Clock::time_point until) {
    return wait.Until(
        until,
        [] {
          return Wait::Text{.who = "rank 1",
                            .what = "rank 0 to answer",
                            .trouble = "refused: me",
                            .advice = "is it running?"};
        },
        [this](Wait::Clock::time_point next) {
          ++looks_;
          if (ready_at_ <= next) {
            now_ = std::max(now_, ready_at_);
            return true;
          }
          now_ = std::max(now_, next);
          return false;
        });
  }

  CommunicatorOptions options_;
  Wait::Clock::time_point now_ = At(0), ready_at_ = At(100'000), interrupted_at_ = At(100'000);
  int looks_ = 0;
  std::vector<std::string> warnings_;
  const std::function<Wait::Clock::time_point()> clock_ = [this] { return now_; };
};

TEST_F(WaitTest, EndsAsSoonAsItIsReady) {
  Wait wait(options_, clock_);
  ready_at_ = At(300);
  EXPECT_EQ(*Until(wait, At(5000)), true);
  EXPECT_EQ(now_, At(300));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(WaitTest, SaysWhoWaitsForWhatOnceAndEndsInTime) {
  Wait wait(options_, clock_);
  const absl::Status status = Until(wait, At(5000)).status();
  EXPECT_THAT(warnings_, ElementsAre("rank 1 has waited 400 ms for rank 0 to answer; refused: me; "
                                     "gives up in 600 ms"));
  EXPECT_EQ(status, absl::DeadlineExceededError("rank 1 has waited 1000 ms for rank 0 to answer; "
                                                "refused: me; is it running?"));
  EXPECT_EQ(now_, At(1000));
}

TEST_F(WaitTest, OneTimeoutAndOneWarningServeSeveralSteps) {
  Wait wait(options_, clock_);
  for (const int until : {300, 600, 900}) {
    EXPECT_EQ(*Until(wait, At(until)), false);
    EXPECT_EQ(now_, At(until));
  }
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(wait.Left(), milliseconds(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Until(wait, At(1200)).status()));
}

// A timeout of 0 would be none at all.
TEST_F(WaitTest, ACallWithTheRestAlwaysHasATimeout) {
  Wait wait(options_, clock_);
  now_ = At(700);
  EXPECT_EQ(wait.Rest().timeout, milliseconds(300));
  now_ = At(1500);
  EXPECT_EQ(wait.Rest().timeout, milliseconds(1));
}

TEST_F(WaitTest, ACallWithTheRestWarnsWhenTheWaitWould) {
  Wait wait(options_, clock_);
  now_ = At(300);
  EXPECT_EQ(wait.Rest().warn_after, milliseconds(100));
  EXPECT_NE(wait.Rest().warn, nullptr);
  now_ = At(400);
  EXPECT_EQ(wait.Rest().warn, nullptr) << "the warning was said before the call";
}

TEST_F(WaitTest, ATimeThatIsOverStillLooksOnce) {
  Wait wait(options_, clock_);
  EXPECT_EQ(*Until(wait, At(0)), false);
  EXPECT_EQ(looks_, 1);
  ready_at_ = At(0);
  EXPECT_EQ(*Until(wait, At(0)), true);
}

TEST_F(WaitTest, ASignalIsNoticedWithinMomentsAndEndsItAfterTheGrace) {
  Wait wait(options_, clock_);
  interrupted_at_ = At(200);
  const absl::Status status = Until(wait, At(5000)).status();
  EXPECT_LE(now_, At(330));
  EXPECT_GE(now_, At(300));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              ::testing::EndsWith("refused: me when it received the signal to end"));
}

TEST_F(WaitTest, AnErrorOfTheWorkEndsIt) {
  Wait wait(options_, clock_);
  const absl::Status status = wait.For([] { return Wait::Text{}; },
                                       [](Wait::Clock::time_point) -> absl::StatusOr<bool> {
                                         return absl::DataLossError("wrong bytes");
                                       });
  EXPECT_EQ(status, absl::DataLossError("wrong bytes"));
}

TEST(PollUntilTest, SaysWhetherSomethingHappened) {
  const Wakeup wakeup;
  pollfd descriptor = {wakeup.descriptor(), POLLIN, 0};
  EXPECT_FALSE(PollUntil({&descriptor, 1}, Wait::Clock::now()));
  wakeup.Wake();
  EXPECT_TRUE(PollUntil({&descriptor, 1}, Wait::Clock::time_point::max()));
  EXPECT_EQ(descriptor.revents, POLLIN);
}

}  // namespace
}  // namespace dtnn
