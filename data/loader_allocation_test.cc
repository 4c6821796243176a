// An epoch allocates nothing: counted with an operator new of our own, over all threads.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "data/loader.h"
#include "data/split.h"
#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"

namespace {
std::atomic<int64_t> allocations = 0;

void* Allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}
}  // namespace

// Not inlined, or GCC compares the halves of a new and delete pair and warns.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return Allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, std::size_t(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace dtnn {
namespace {

int64_t AllocationsInEpoch(Loader& loader, int64_t epoch, int64_t& steps) {
  const int64_t before = allocations;
  loader.StartEpoch(epoch);
  steps = 0;
  while (loader.Next().value() != nullptr) ++steps;
  return allocations - before;
}

TEST(LoaderAllocationTest, TheCounterCounts) {
  const int64_t before = allocations;
  delete new int64_t;
  EXPECT_GT(allocations, before);
}

TEST(LoaderAllocationTest, EpochsAllocateNothing) {
  for (int prefetch : {0, 2}) {
    auto loader = Loader::Create(std::make_shared<testing::CountingDataset>(1000), Part::kTrain,
                                 AllIndices(1000), {.batch = 7, .prefetch = prefetch})
                      .value();
    int64_t steps = 0;
    for (int64_t epoch : {0, 1, 2}) {
      EXPECT_EQ(AllocationsInEpoch(*loader, epoch, steps), 0) << "prefetch " << prefetch;
      EXPECT_EQ(steps, 143);
    }
  }
}

}  // namespace
}  // namespace dtnn
