#include "models/observe/trace/event_log.h"

#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

Event At(int64_t begin, int64_t end, int64_t samples = 0) {
  return {.activity = Activity::kForward, .samples = samples, .begin = begin, .end = end};
}

TEST(EventLogTest, EventsComeInTheOrderOfTheirBegins) {
  EventLog log(100);
  log.End(At(20, 30));
  log.End(At(10, 12));
  log.End(At(10, 40));
  const std::vector<LoggedEvent> events = log.Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].event.end, 40) << "what contains comes before what is inside";
  EXPECT_EQ(events[1].event.end, 12);
  EXPECT_EQ(events[2].event.end, 30);
  EXPECT_EQ(log.dropped(), 0);
}

TEST(EventLogTest, AFullLogCountsWhatItCannotKeep) {
  EventLog log(1);  // a block of 1024
  for (int i = 0; i < 3000; ++i) log.End(At(i, i + 1));
  EXPECT_EQ(log.Events().size(), 1024u);
  EXPECT_EQ(log.dropped(), 3000 - 1024);
  EXPECT_EQ(log.Events().back().event.begin, 1023) << "the first ones are kept";
}

TEST(EventLogTest, ALogHasRoomForAMillionEventsUnlessItIsSaid) {
  EventLog log;
  for (int i = 0; i < 1'000'000; ++i) log.End(At(i, i + 1));
  EXPECT_EQ(log.dropped(), 0);
  EXPECT_EQ(log.Events().size(), 1'000'000u);
  for (int i = 0; i < 1024; ++i) log.End(At(i, i + 1));
  EXPECT_GT(log.dropped(), 0) << "nor for a block more";
}

TEST(EventLogTest, ItsFileIsClosedWithIt) {
  const int64_t before = testing::OpenDescriptors();
  {
    const EventLog log(1);
    EXPECT_EQ(testing::OpenDescriptors(), before + 1) << "of the memory of the process";
  }
  EXPECT_EQ(testing::OpenDescriptors(), before);
}

TEST(EventLogTest, ThreadsKeepTheirEventsApart) {
  constexpr int kThreads = 4, kEvents = 5000;
  EventLog log;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < kEvents; ++i) log.End(At(i, i + 1, t));
    });
  }
  size_t before = 0;
  while (before < 1000) {  // looking while they tell
    const size_t now = log.Events().size();
    EXPECT_GE(now, before);
    before = now;
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<LoggedEvent> events = log.Events();
  EXPECT_EQ(events.size(), size_t(kThreads * kEvents));
  std::vector<std::set<int64_t>> told(kThreads);
  std::vector<std::set<int32_t>> numbers(kThreads);
  for (const LoggedEvent& logged : events) {
    told[size_t(logged.event.samples)].insert(logged.event.begin);
    numbers[size_t(logged.event.samples)].insert(logged.thread);
  }
  std::set<int32_t> all;
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(told[size_t(t)].size(), size_t(kEvents));
    EXPECT_EQ(numbers[size_t(t)].size(), 1u);
    all.insert(numbers[size_t(t)].begin(), numbers[size_t(t)].end());
  }
  EXPECT_EQ(*all.begin(), 1);
  EXPECT_EQ(all.size(), size_t(kThreads));
}

TEST(EventLogTest, LogsOfOneThreadDoNotMix) {
  EventLog first, second;
  for (int i = 0; i < 10; ++i) {
    first.End(At(i, i + 1));
    second.End(At(100 + i, 101 + i));
  }
  EXPECT_EQ(first.Events().size(), 10u);
  EXPECT_EQ(second.Events().size(), 10u);
  EXPECT_EQ(second.Events().front().event.begin, 100);
}

TEST(EventLogTest, MemoryIsLookedAtAfterSteps) {
  EventLog log;
  constexpr int64_t kSecond = 1'000'000'000;
  for (const int64_t end : {kSecond, kSecond + 1000, 2 * kSecond}) {
    log.End({.activity = Activity::kStep, .begin = end - 10, .end = end});
  }
  int found = 0;
  for (const LoggedEvent& logged : log.Events()) {
    if (logged.event.activity != Activity::kMemory) continue;
    ++found;
    EXPECT_GT(logged.event.bytes, int64_t{1} << 20);
    EXPECT_LT(logged.event.bytes, int64_t{1} << 40);
  }
  EXPECT_EQ(found, 2) << "not after a step that comes at once after another";
}

TEST(EventLogTest, TellingAllocatesNothing) {
  EventLog log;
  const dtnn::testing::AllocationCounter counter;
  for (int i = 0; i < 3000; ++i) {
    log.End({.activity = Activity::kStep, .begin = i, .end = i + int64_t{200'000'000}});
  }
  EXPECT_EQ(counter.count(), 0);
}

}  // namespace
}  // namespace dtnn
