#include "tensor/gpu/simulated/work_queue.h"

#include <vector>

#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

Philox Seeded(uint64_t seed) { return Philox(seed, StreamId(RandomPurpose::kTest)); }

TEST(WorkQueueTest, DoesEverythingInOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    WorkQueue queue(Seeded(seed), 20);
    std::vector<int> seen;  // no lock: Wait is the edge
    for (int i = 0; i < 10; ++i) queue.Push([&seen, i] { seen.push_back(i); });
    queue.Wait();
    EXPECT_TRUE(queue.Done());
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST(WorkQueueTest, IsNotDoneBeforeItsWork) {
  WorkQueue queue(Seeded(1), 0);
  EXPECT_TRUE(queue.Done());
  std::atomic<uint32_t> gate = 0;
  queue.Push([&] { gate.wait(0); });
  EXPECT_FALSE(queue.Done());
  gate = 1;
  gate.notify_all();
  queue.Wait();
  EXPECT_TRUE(queue.Done());
}

TEST(WorkQueueTest, TheEndDoesWhatIsQueued) {
  int sum = 0;
  {
    WorkQueue queue(Seeded(2), 50);
    for (int i = 1; i <= 4; ++i) queue.Push([&sum, i] { sum += i; });
  }
  EXPECT_EQ(sum, 10);
}

}  // namespace
}  // namespace dtnn::gpu
