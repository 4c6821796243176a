// The work of a stream and the thread that does it, in order, late by a random time.
//
// The only edges between the two threads are those that a GPU gives: what was queued happens before
// it is done, and what is done happens before a Wait that returns or a Done that says true. So a
// thread sanitizer sees everything that lacks a wait. One thread at a time may push.

#ifndef DTNN_TENSOR_GPU_SIMULATED_WORK_QUEUE_H_
#define DTNN_TENSOR_GPU_SIMULATED_WORK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "tensor/philox.h"
#include "tensor/threads/waitable_word.h"

namespace dtnn::gpu {

class WorkQueue {
 public:
  // Every piece of work is begun 0 to `most_delay_us` microseconds late.
  WorkQueue(const Philox& random, uint32_t most_delay_us);
  // Does what is queued.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void Push(std::function<void()> work);
  // Waits for all that has been pushed.
  void Wait() { WaitFor(pushed_); }
  // How much that is; and, for any thread, a wait until so much is done.
  uint32_t pushed() const { return pushed_; }
  void WaitFor(uint32_t pushed);
  bool Done() const { return done_.Load(std::memory_order_acquire) == pushed_; }

 private:
  struct Item {
    std::function<void()> work;  // null: the end
    Item* next = nullptr;
  };

  void DoAll(Item* item);

  const Philox random_;
  const uint32_t most_delay_us_;
  Item* last_;           // of those who push
  uint32_t pushed_ = 0;  // likewise
  // Counts that wrap around.
  WaitableWord queued_, done_;
  std::thread thread_;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_WORK_QUEUE_H_
