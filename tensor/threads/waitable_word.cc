#include "tensor/threads/waitable_word.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace dtnn {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void Futex(const std::atomic<uint32_t>& word, int operation, uint32_t value) {
  syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

// The thread counts itself before the system compares the word, and Wake() reads the count after
// the word has changed, all in one total order: either the comparison sees the change, or Wake()
// sees the thread.
uint32_t WaitableWord::SleepWhile(uint32_t old) {
  uint32_t now;
  sleepers_.fetch_add(1);
  while ((now = word_.load()) == old) Futex(word_, FUTEX_WAIT_PRIVATE, old);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

void WaitableWord::Wake() {
  if (sleepers_.load() > 0) Futex(word_, FUTEX_WAKE_PRIVATE, INT_MAX);
}

}  // namespace dtnn
