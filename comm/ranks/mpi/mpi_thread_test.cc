#include "comm/ranks/mpi/mpi_thread.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using Progress = MpiThread::Progress;

MpiThread::Clock::time_point In(milliseconds time) { return MpiThread::Clock::now() + time; }

TEST(MpiThreadTest, TasksRunInOrderOnOneThread) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  MpiThread thread;
  for (int i = 0; i < 100; ++i) {
    thread.Post([&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  }
  ASSERT_TRUE(thread.Stop(In(std::chrono::minutes(1))));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[size_t(i)], i);
    EXPECT_EQ(threads[size_t(i)], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

// Counts looks until End says that nothing is on its way.
class Looks {
 public:
  void AwaitAnother() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&, seen = looks_] { return looks_ > seen + 1; });
  }
  int End() {
    std::lock_guard lock(mutex_);
    on_its_way_ = false;
    return looks_;
  }
  int looks() {
    std::lock_guard lock(mutex_);
    return looks_;
  }
  Progress Look() {
    std::lock_guard lock(mutex_);
    ++looks_;
    changed_.notify_all();
    return on_its_way_ ? Progress::kStill : Progress::kNothing;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int looks_ = 0;
  bool on_its_way_ = true;
};

TEST(MpiThreadTest, WhatIsOnItsWayIsLookedAtWhetherSomebodyWaitsOrNot) {
  Looks looks;
  MpiThread thread;
  thread.set_progress([&] { return looks.Look(); });
  looks.AwaitAnother();
  thread.SetWaiting(true);
  looks.AwaitAnother();
  thread.set_crowded(true);
  looks.AwaitAnother();
  thread.SetWaiting(false);
  looks.AwaitAnother();
  ASSERT_TRUE(thread.Stop(In(std::chrono::minutes(1))));
}

TEST(MpiThreadTest, WhileNothingIsOnItsWayItSleeps) {
  Looks looks;
  MpiThread thread;
  thread.set_progress([&] { return looks.Look(); });
  looks.AwaitAnother();
  const int before = looks.End();
  thread.SetWaiting(true);  // wakes it, for nothing
  thread.Post([] {});
  ASSERT_TRUE(thread.Stop(In(std::chrono::minutes(1))));
  // One that may have been under way, and one after each of the three.
  EXPECT_LE(looks.looks(), before + 4);
}

TEST(MpiThreadTest, AThreadThatHangsIsLeftBehind) {
  // The thread stays in its task when the test has ended.
  const auto held = std::make_shared<std::mutex>();
  const auto after = std::make_shared<bool>(false);
  held->lock();
  {
    MpiThread thread;
    thread.Post([held] { std::lock_guard lock(*held); });
    thread.Post([after] { *after = true; });
    EXPECT_FALSE(thread.Stop(In(milliseconds(50))));
  }
  EXPECT_FALSE(*after);
}

}  // namespace
}  // namespace dtnn
