#include "tensor/gpu/simulated/fiber.h"

#include <vector>

#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

struct Counter {
  Fiber fiber;
  std::vector<int> seen;
  int last = 0;
};

void Count(void* argument) {
  Counter& counter = *static_cast<Counter*>(argument);
  for (int i = 0; i < counter.last; ++i) {
    counter.seen.push_back(i);
    counter.fiber.Yield();
  }
}

TEST(FiberTest, GoesOnWhereItStopped) {
  Counter a, b;
  a.last = 3;
  b.last = 1;
  a.fiber.Start(Count, &a);
  b.fiber.Start(Count, &b);
  EXPECT_TRUE(a.fiber.Resume());
  EXPECT_TRUE(b.fiber.Resume());
  EXPECT_TRUE(a.fiber.Resume());
  EXPECT_FALSE(b.fiber.Resume());
  EXPECT_TRUE(a.fiber.Resume());
  EXPECT_FALSE(a.fiber.Resume());
  EXPECT_EQ(a.seen, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(b.seen, (std::vector<int>{0}));
}

TEST(FiberTest, StartsAgainAfterTheEndAndInTheMiddle) {
  Counter counter;
  counter.last = 2;
  for (int round = 0; round < 3; ++round) {
    counter.seen.clear();
    counter.fiber.Start(Count, &counter);
    EXPECT_TRUE(counter.fiber.Resume());
    if (round == 1) continue;  // given up
    EXPECT_TRUE(counter.fiber.Resume());
    EXPECT_FALSE(counter.fiber.Resume());
    EXPECT_EQ(counter.seen, (std::vector<int>{0, 1}));
  }
}

}  // namespace
}  // namespace dtnn::gpu
