// What is to be written to one gRPC stream: one letter at a time, the others wait.
//
// gRPC wants a letter to live until it is written, and no write after the end. Any thread may Push;
// `write` and `finish` are called without a lock, one call at a time, and never both at once.

#ifndef DTNN_COMM_TRANSPORT_GRPC_LETTER_QUEUE_H_
#define DTNN_COMM_TRANSPORT_GRPC_LETTER_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "comm/transport/grpc/switchboard.pb.h"

namespace dtnn {

class LetterQueue {
 public:
  LetterQueue(std::function<void(const proto::Letter&)> write, std::function<void()> finish)
      : write_(std::move(write)), finish_(std::move(finish)) {}

  // Dropped after Finish.
  void Push(proto::Letter letter) {
    const proto::Letter* first = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (finishing_) return;
      letters_.push_back(std::move(letter));
      if (writing_) return;
      writing_ = true;
      first = &letters_.front();
    }
    write_(*first);
  }
  // The first letter is written, or, not `ok`, none ever will be.
  void Written(bool ok) {
    const proto::Letter* next = nullptr;
    bool finishes = false;
    {
      const std::lock_guard lock(mutex_);
      letters_.pop_front();
      if (!ok || (finishing_ && !after_letters_)) letters_.clear();
      writing_ = !letters_.empty();
      if (writing_) next = &letters_.front();
      finishes = !writing_ && finishing_;
      if (!writing_) empty_.notify_all();
    }
    if (next != nullptr) write_(*next);
    if (finishes) finish_();
  }
  // Once nothing is being written; `after_letters`: and all that was pushed is written.
  void Finish(bool after_letters = false) {
    {
      const std::lock_guard lock(mutex_);
      if (finishing_) return;
      finishing_ = true;
      after_letters_ = after_letters;
      if (writing_) return;
    }
    finish_();
  }
  void AwaitEmpty(std::chrono::steady_clock::time_point end) {
    std::unique_lock lock(mutex_);
    empty_.wait_until(lock, end, [this] { return !writing_; });
  }

 private:
  const std::function<void(const proto::Letter&)> write_;
  const std::function<void()> finish_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::deque<proto::Letter> letters_;  // whose elements never move
  bool writing_ = false, finishing_ = false, after_letters_ = false;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_GRPC_LETTER_QUEUE_H_
