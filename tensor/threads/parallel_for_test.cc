#include "tensor/threads/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

// The ranges that ParallelFor makes, sorted by their beginning.
Ranges RangesOf(int64_t begin, int64_t end, int64_t grain) {
  std::mutex mutex;
  Ranges ranges;
  ParallelFor(begin, end, grain, [&](int64_t first, int64_t last) {
    std::lock_guard lock(mutex);
    ranges.emplace_back(first, last);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

class ParallelForTest : public ::testing::TestWithParam<int> {
 protected:
  ParallelForTest() { SetNumThreads(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Threads, ParallelForTest, ::testing::Values(1, 2, 3, 4));

TEST_P(ParallelForTest, CoversEveryIndexOnceInRangesOfWholeGrains) {
  for (int64_t count : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 63, 100, 1001}) {
    for (int64_t grain : {1, 2, 3, 8, 16, 1000, 5000}) {
      const int64_t begin = -5, end = begin + count;
      const Ranges ranges = RangesOf(begin, end, grain);
      int64_t next = begin;
      for (auto [first, last] : ranges) {
        ASSERT_EQ(first, next) << count << " in grains of " << grain;
        ASSERT_LT(first, last);
        if (last != end) {
          ASSERT_EQ((last - first) % grain, 0);
        }
        next = last;
      }
      ASSERT_EQ(next, end);
      if (count < 2 * grain) {
        ASSERT_EQ(ranges.size(), 1u) << count << " in grains of " << grain;
      }
    }
  }
}

// So that a thread that is done finds something to take from one that has no processor.
TEST_P(ParallelForTest, MakesSeveralRangesPerThreadOfLikeSize) {
  const Ranges ranges = RangesOf(0, 1003, 10);
  if (GetParam() == 1) {
    EXPECT_EQ(ranges.size(), 1u);
    return;
  }
  ASSERT_GE(ranges.size(), 2 * size_t(GetParam()));
  const int64_t fair = 1003 / int64_t(ranges.size());
  for (auto [first, last] : ranges) EXPECT_LE(last - first, fair + 2 * 10);
}

TEST_P(ParallelForTest, AnEmptyRangeCallsNothing) {
  EXPECT_TRUE(RangesOf(3, 3, 1).empty());
  EXPECT_TRUE(RangesOf(3, 2, 1).empty());
}

TEST_P(ParallelForTest, ExtremeBoundsAndGrainsDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(RangesOf(0, 5, kMost), (Ranges{{0, 5}}));
  const Ranges ranges = RangesOf(0, kMost, 1);
  ASSERT_GE(ranges.size(), size_t(GetParam()));
  EXPECT_EQ(ranges.front().first, 0);
  EXPECT_EQ(ranges.back().second, kMost);
  EXPECT_EQ(RangesOf(0, 4, 0).back().second, 4);  // no grain is a grain of one
}

TEST_P(ParallelForTest, InnerLoopsOfAParallelBodyAreSerial) {
  std::atomic<int> bodies{0}, inner{0};
  ParallelFor(0, GetParam(), 1, [&](int64_t, int64_t) {
    ++bodies;
    if (GetParam() > 1) {
      EXPECT_EQ(NumThreads(), 1);
    }
    const std::thread::id self = std::this_thread::get_id();
    if (GetParam() == 1) return;
    ParallelFor(0, 1000, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_EQ(end - begin, 1000);
      ++inner;
    });
  });
  EXPECT_EQ(bodies, GetParam());
  EXPECT_EQ(inner, GetParam() == 1 ? 0 : GetParam());
  EXPECT_EQ(NumThreads(), GetParam());
}

TEST_P(ParallelForTest, NoTwoRangesUseTheScratchOfAThreadAtOnce) {
  std::vector<std::atomic<bool>> busy(4);
  std::atomic<int64_t> seen{0};
  for (int repeat = 0; repeat < 200; ++repeat) {
    ParallelForWithScratch(64, 1, 3, [&](int thread, int64_t begin, int64_t end) {
      ASSERT_LT(thread, std::min(3, GetParam()));
      EXPECT_FALSE(busy[size_t(thread)].exchange(true));
      seen += end - begin;
      busy[size_t(thread)] = false;
    });
  }
  EXPECT_EQ(seen, 200 * 64);
}

TEST_P(ParallelForTest, ParallelThreadsCallsEachNumberOnce) {
  for (int asked : {0, 1, 2, 3, 4, 9}) {
    std::vector<std::atomic<int>> calls(16);
    ParallelThreads(asked, [&](int thread) { ++calls[size_t(thread)]; });
    const int expected = std::max(1, std::min(asked, GetParam()));
    for (int t = 0; t < 16; ++t) EXPECT_EQ(calls[size_t(t)], t < expected ? 1 : 0) << asked;
  }
}

TEST(NumThreadsTest, IsOfTheCallingThreadAndAtLeastOne) {
  SetNumThreads(3);
  std::thread([] {
    SetNumThreads(2);
    EXPECT_EQ(NumThreads(), 2);
  }).join();
  EXPECT_EQ(NumThreads(), 3);
  SetNumThreads(-4);
  EXPECT_EQ(NumThreads(), 1);
}

TEST(NumThreadsTest, FollowsTheEnvironmentWithinBounds) {
  EXPECT_EQ(DefaultThreads(nullptr, 6), 6);
  EXPECT_EQ(DefaultThreads("3", 6), 3);
  EXPECT_EQ(DefaultThreads("4,2", 6), 4);
  for (const char* slip : {"", "0", "-2", "many"}) EXPECT_EQ(DefaultThreads(slip, 6), 6) << slip;
  EXPECT_EQ(DefaultThreads("1000000", 6), 1024);
  SetNumThreads(1000000);
  EXPECT_EQ(NumThreads(), 1024);
  SetNumThreads(1);
}

}  // namespace
}  // namespace dtnn
