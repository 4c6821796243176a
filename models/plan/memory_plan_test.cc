#include "models/plan/memory_plan.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

TEST(MemoryPlanTest, BuffersThatLiveTogetherNeverOverlap) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Philox random(seed, 0);
    std::vector<PlannedBuffer> buffers;
    size_t sum = 0;
    for (uint64_t i = 0; i < 60; ++i) {
      const int first = int(random.Below(3 * i, 40));
      buffers.push_back({.bytes = random.Below(3 * i + 1, 5000),
                         .first = first,
                         .last = first + int(random.Below(3 * i + 2, 10))});
      sum += buffers.back().bytes + 64;
    }
    const size_t arena = PlaceBuffers(buffers);
    EXPECT_LE(arena, sum);
    EXPECT_EQ(arena % 64, 0u);
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % 64, 0u);
      EXPECT_LE(buffers[i].offset + buffers[i].bytes, arena);
      for (size_t j = 0; j < i; ++j) {
        const PlannedBuffer &a = buffers[i], &b = buffers[j];
        const bool together = a.first <= b.last && b.first <= a.last;
        const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        EXPECT_FALSE(together && overlap) << "seed " << seed << ": " << i << " and " << j;
      }
    }
  }
}

TEST(MemoryPlanTest, AChainNeedsTwoBuffers) {
  std::vector<PlannedBuffer> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({.bytes = 640, .first = i, .last = i + 1});
  EXPECT_EQ(PlaceBuffers(chain), 1280u);
}

TEST(MemoryPlanTest, NothingNeedsNothing) { EXPECT_EQ(PlaceBuffers({}), 0u); }

}  // namespace
}  // namespace dtnn
