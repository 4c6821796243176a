#include "comm/federation/simulation/ordered_updates.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OrderedUpdatesTest, EarlyOnesAreHeldBack) {
  std::vector<int> taken;
  OrderedUpdates updates(3, [&](int position, const UpdateNumbers& update) {
    taken.push_back(position);
    EXPECT_THAT(update, ElementsAre(float(position)));
  });
  updates.Give(2, {2});
  updates.Give(1, {1});
  EXPECT_THAT(taken, IsEmpty());
  updates.Give(0, {0});
  EXPECT_THAT(taken, ElementsAre(0, 1, 2));
  updates.Give(3, {3});
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3));
}

// The thread of the first position may be as slow as it likes: the others wait, with few updates.
TEST(OrderedUpdatesTest, ManyThreadsGiveOneOrder) {
  constexpr int kThreads = 4, kUpdates = 400;
  std::vector<int> taken;
  std::atomic<int> given = 0, next = 0;
  int most_ahead = 0;
  OrderedUpdates updates(2, [&](int position, const UpdateNumbers& update) {
    taken.push_back(position);
    EXPECT_EQ(update.empty(), position % 7 == 0);
    most_ahead = std::max(most_ahead, given - position);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int position = next++; position < kUpdates; position = next++) {
        if (position % 50 == 0) std::this_thread::yield();
        ++given;
        updates.Give(position, position % 7 == 0 ? UpdateNumbers() : UpdateNumbers{1});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(taken.size(), size_t(kUpdates));
  for (int i = 0; i < kUpdates; ++i) EXPECT_EQ(taken[size_t(i)], i);
  EXPECT_LE(most_ahead, 2 + 1 + kThreads);
}

}  // namespace
}  // namespace dtnn::federation
