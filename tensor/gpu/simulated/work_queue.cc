#include "tensor/gpu/simulated/work_queue.h"

#include <chrono>
#include <utility>

namespace dtnn::gpu {

WorkQueue::WorkQueue(const Philox& random, uint32_t most_delay_us)
    : random_(random), most_delay_us_(most_delay_us), last_(new Item()) {
  thread_ = std::thread([this, first = last_] { DoAll(first); });
}

WorkQueue::~WorkQueue() {
  Push(nullptr);
  thread_.join();
}

void WorkQueue::Push(std::function<void()> work) {
  Item* const item = new Item();
  item->work = std::move(work);
  ++pushed_;
  std::exchange(last_, item)->next = item;
  // Not after the look at who sleeps that Wake begins with: it would miss a thread that has just
  // gone to sleep.
  queued_.Store(pushed_, std::memory_order_seq_cst);
  queued_.Wake();
}

void WorkQueue::WaitFor(uint32_t pushed) {
  const auto missing = [&](uint32_t done) { return int32_t(pushed - done) > 0; };
  uint32_t done = done_.Load(std::memory_order_acquire);
  while (missing(done)) done = done_.SleepWhile(done);
}

void WorkQueue::DoAll(Item* item) {
  for (uint32_t number = 0;; ++number) {
    if (queued_.Load(std::memory_order_acquire) == number) queued_.SleepWhile(number);
    Item* const next = item->next;
    delete item;
    item = next;
    if (item->work == nullptr) break;
    // Half of the time no delay, so that the order of streams changes too.
    const std::array<uint32_t, 4> random = random_.Block(number);
    if (most_delay_us_ > 0 && random[0] % 2 == 0) {
      const auto delay = std::chrono::microseconds(random[1] % (most_delay_us_ + 1));
      std::this_thread::sleep_for(delay);
    }
    item->work();
    item->work = nullptr;  // what it held is free before anybody is woken
    done_.FetchAdd(1);
    done_.Wake();
  }
  delete item;
}

}  // namespace dtnn::gpu
