#include "comm/ranks/exchange/turn_owner.h"

#include <poll.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

class TurnOwnerTest : public ::testing::Test {
 protected:
  // As an owner that sleeps would notice; takes it.
  bool Woken() {
    pollfd descriptor = {owner_.descriptor(), POLLIN, 0};
    if (poll(&descriptor, 1, 0) != 1) return false;
    owner_.TakeWake();
    return true;
  }

  std::mutex mutex_;
  std::unique_lock<std::mutex> lock_{mutex_};
  TurnOwner owner_;
};

TEST_F(TurnOwnerTest, ACallerTakesOverWhereTheThreadSleeps) {
  owner_.Acquire(lock_);
  EXPECT_FALSE(owner_.TakeOver());
  owner_.FallAsleep();
  EXPECT_TRUE(owner_.TakeOver());
  EXPECT_FALSE(owner_.WakeUp());
}

TEST_F(TurnOwnerTest, AThreadThatHasSleptUndisturbedStaysTheOwner) {
  owner_.Acquire(lock_);
  owner_.FallAsleep();
  EXPECT_TRUE(owner_.WakeUp());
  EXPECT_FALSE(owner_.TakeOver());
  owner_.Acquire(lock_);
}

TEST_F(TurnOwnerTest, OnlyOneCallerOwnsTheTurn) {
  EXPECT_TRUE(owner_.TakeOver());
  EXPECT_FALSE(owner_.TakeOver());
  owner_.HandBack(false);
  EXPECT_TRUE(owner_.TakeOver());
}

TEST_F(TurnOwnerTest, TheThreadIsTheOwnerAgainAfterCallers) {
  for (const bool needed : {false, true}) {
    owner_.Acquire(lock_);
    owner_.FallAsleep();
    EXPECT_TRUE(owner_.TakeOver());
    owner_.HandBack(needed);
    EXPECT_FALSE(owner_.WakeUp());
    owner_.Acquire(lock_);
    EXPECT_FALSE(owner_.TakeOver()) << needed;
  }
}

// A caller has come and gone while the thread slept; it no longer knows what to sleep for.
TEST_F(TurnOwnerTest, AThreadThatStillSleepsIsWoken) {
  owner_.Acquire(lock_);
  owner_.FallAsleep();
  EXPECT_FALSE(Woken());
  EXPECT_TRUE(owner_.TakeOver());
  EXPECT_FALSE(Woken());
  owner_.HandBack(false);
  EXPECT_TRUE(Woken());
  owner_.Wake();
  EXPECT_TRUE(Woken());
  EXPECT_FALSE(owner_.WakeUp());
}

// What came while nobody owned the turn, or another caller was woken for, woke nobody.
TEST_F(TurnOwnerTest, AThreadThatBecomesTheOwnerLooksBeforeItSleeps) {
  EXPECT_TRUE(owner_.Acquire(lock_));
  EXPECT_FALSE(owner_.Acquire(lock_));
  owner_.FallAsleep();
  EXPECT_TRUE(owner_.TakeOver());
  owner_.Wake();
  EXPECT_TRUE(Woken());  // the caller
  EXPECT_FALSE(owner_.WakeUp());
  owner_.HandBack(false);
  owner_.Wake();
  EXPECT_FALSE(Woken());
  EXPECT_TRUE(owner_.Acquire(lock_));
}

TEST_F(TurnOwnerTest, WhoeverOwnsTheTurnIsWoken) {
  owner_.Acquire(lock_);
  owner_.Wake();
  EXPECT_TRUE(Woken());
  owner_.FallAsleep();
  EXPECT_TRUE(owner_.TakeOver());
  EXPECT_FALSE(owner_.WakeUp());
  owner_.Wake();
  EXPECT_TRUE(Woken());
  owner_.HandBack(false);
  owner_.Wake();  // the thread, which does not sleep in a turn
  EXPECT_FALSE(Woken());
}

// Both sides of a counter that only the owner touches, without a lock of its own.
TEST_F(TurnOwnerTest, OwnersNeverMeet) {
  int64_t turns = 0;
  bool stop = false;
  lock_.unlock();
  int64_t of_thread = 0;
  std::thread thread([&] {
    std::unique_lock lock(mutex_);
    while (true) {
      if (!owner_.Acquire(lock)) {
        owner_.FallAsleep();
        lock.unlock();
        pollfd descriptor = {owner_.descriptor(), POLLIN, 0};
        poll(&descriptor, 1, -1);
        lock.lock();
        if (!owner_.WakeUp()) continue;
        owner_.TakeWake();
      }
      lock.unlock();
      ++turns;
      ++of_thread;
      lock.lock();
      if (stop) return;
    }
  });
  const auto call = [&](int64_t& of_caller) {
    for (int i = 0; i < 1000; ++i) {
      std::unique_lock lock(mutex_);
      if (owner_.TakeOver()) {
        lock.unlock();
        ++turns;
        ++of_caller;
        lock.lock();
        owner_.HandBack(i % 3 == 0);
      }
      owner_.Wake();
    }
  };
  int64_t of_callers[2] = {};
  std::thread other(call, std::ref(of_callers[1]));
  call(of_callers[0]);
  other.join();
  {
    std::lock_guard lock(mutex_);
    stop = true;
    owner_.Wake();
  }
  thread.join();
  EXPECT_EQ(turns, of_thread + of_callers[0] + of_callers[1]);
}

}  // namespace
}  // namespace dtnn
