#include "comm/federation/aggregator/sums/sum_thread.h"

#include <future>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;

TEST(SumThreadTest, DoesAllOfItInOrder) {
  std::vector<int> order;  // of one thread until Await
  int done = 0;
  SumThread thread([&] { ++done; });
  for (const int i : {1, 2, 3}) thread.Do([&order, i] { order.push_back(i); });
  thread.Await();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_EQ(done, 3);
}

TEST(SumThreadTest, NobodyWaitsWhoGivesIt) {
  std::promise<void> go;
  bool done = false;
  SumThread thread([] {});
  thread.Do([&] {
    go.get_future().wait();
    done = true;
  });
  thread.Do([] {});
  EXPECT_FALSE(done);
  go.set_value();
  thread.Await();
  EXPECT_TRUE(done);
}

TEST(SumThreadTest, DoesWhatItWasGivenBeforeItEnds) {
  int done = 0;
  std::optional<SumThread> thread(std::in_place, [] {});
  for (int i = 0; i < 10; ++i) thread->Do([&] { ++done; });
  thread.reset();
  EXPECT_EQ(done, 10);
}

TEST(SumThreadTest, UsesAsManyThreadsAsItsMaker) {
  const int before = NumThreads();
  SetNumThreads(3);
  SumThread thread([] {});
  SetNumThreads(before);
  int threads = 0;
  thread.Do([&] { threads = NumThreads(); });
  thread.Await();
  EXPECT_EQ(threads, 3);
}

}  // namespace
}  // namespace dtnn::federation
