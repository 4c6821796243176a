#include "comm/federation/aggregator/sums/sum_thread.h"

#include <utility>

#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {

SumThread::SumThread(std::function<void()> done)
    : done_(std::move(done)), thread_([this, threads = NumThreads()] { Run(threads); }) {}

SumThread::~SumThread() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

void SumThread::Do(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

void SumThread::Await() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty(); });
}

void SumThread::Run(int threads) {
  SetNumThreads(threads);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
    if (work_.empty()) return;
    const std::function<void()> work = std::move(work_.front());
    lock.unlock();
    work();
    done_();
    lock.lock();
    work_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace dtnn::federation
