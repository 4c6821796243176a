#include "tools/testing/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace dtnn::testing {
namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0, allocated_bytes = 0;

void* Allocate(size_t bytes, size_t alignment) {
  if (counting) {
    ++allocations;
    allocated_bytes += int64_t(bytes);
  }
  void* memory = alignment == 0
                     ? std::malloc(bytes == 0 ? 1 : bytes)
                     : std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

AllocationCounter::AllocationCounter() {
  allocations = allocated_bytes = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

int64_t AllocationCounter::count() const { return allocations; }
int64_t AllocationCounter::bytes() const { return allocated_bytes; }

}  // namespace dtnn::testing

void* operator new(size_t bytes) { return dtnn::testing::Allocate(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return dtnn::testing::Allocate(bytes, size_t(alignment));
}
// Used by std::stable_sort; without it, a sanitizer's own would meet the delete below.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return dtnn::testing::Allocate(bytes, 0);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
