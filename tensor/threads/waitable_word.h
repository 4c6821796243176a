// A 32-bit number that threads wait for: sleeping costs a system call, changing it only where a
// thread sleeps.
//
// Not std::atomic's own wait(): libstdc++ calls sched_yield() four times before it sleeps, and
// Linux takes the rest of its time slice from a thread that yields. On a busy machine a worker that
// waits so loses the processor for many milliseconds before it has even begun to sleep.

#ifndef DTNN_TENSOR_THREADS_WAITABLE_WORD_H_
#define DTNN_TENSOR_THREADS_WAITABLE_WORD_H_

#include <atomic>
#include <cstdint>

namespace dtnn {

class WaitableWord {
 public:
  uint32_t Load(std::memory_order order) const { return word_.load(order); }
  void Store(uint32_t value, std::memory_order order) { word_.store(value, order); }

  // They return what the word was before; all but CompareExchange are a release.
  uint32_t FetchAdd(uint32_t change) { return word_.fetch_add(change); }
  uint32_t FetchAnd(uint32_t mask) { return word_.fetch_and(mask); }
  bool CompareExchange(uint32_t& expected, uint32_t desired) {
    return word_.compare_exchange_weak(expected, desired);
  }

  // Sleeps until the word is not `old`; returns what it is then. Acquires what was released by the
  // change.
  uint32_t SleepWhile(uint32_t old);
  // Wakes all that sleep, after a change.
  void Wake();

 private:
  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_THREADS_WAITABLE_WORD_H_
