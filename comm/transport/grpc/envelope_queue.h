// What is to be written to one gRPC stream: one envelope at a time, the others wait.
//
// gRPC wants an envelope to live until it is written, and no write after the end. Any thread may
// Push; `write` and `finish` are called without a lock, one call at a time, and never both at once.

#ifndef DTNN_COMM_TRANSPORT_GRPC_ENVELOPE_QUEUE_H_
#define DTNN_COMM_TRANSPORT_GRPC_ENVELOPE_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "comm/transport/grpc/switchboard.pb.h"

namespace dtnn {

class EnvelopeQueue {
 public:
  EnvelopeQueue(std::function<void(const proto::Envelope&)> write, std::function<void()> finish)
      : write_(std::move(write)), finish_(std::move(finish)) {}

  // Dropped after Finish.
  void Push(proto::Envelope envelope) {
    const proto::Envelope* first = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (finishing_) return;
      envelopes_.push_back(std::move(envelope));
      if (writing_) return;
      writing_ = true;
      first = &envelopes_.front();
    }
    write_(*first);
  }
  // The first envelope is written, or, not `ok`, none ever will be.
  void Written(bool ok) {
    const proto::Envelope* next = nullptr;
    bool finishes = false;
    {
      const std::lock_guard lock(mutex_);
      envelopes_.pop_front();
      if (!ok || (finishing_ && !after_envelopes_)) envelopes_.clear();
      writing_ = !envelopes_.empty();
      if (writing_) next = &envelopes_.front();
      finishes = !writing_ && finishing_;
      if (!writing_) empty_.notify_all();
    }
    if (next != nullptr) write_(*next);
    if (finishes) finish_();
  }
  // Once nothing is being written; `after_envelopes`: and all that was pushed is written.
  void Finish(bool after_envelopes = false) {
    {
      const std::lock_guard lock(mutex_);
      if (finishing_) return;
      finishing_ = true;
      after_envelopes_ = after_envelopes;
      if (writing_) return;
    }
    finish_();
  }
  void AwaitEmpty(std::chrono::steady_clock::time_point end) {
    std::unique_lock lock(mutex_);
    empty_.wait_until(lock, end, [this] { return !writing_; });
  }

 private:
  const std::function<void(const proto::Envelope&)> write_;
  const std::function<void()> finish_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::deque<proto::Envelope> envelopes_;  // whose elements never move
  bool writing_ = false, finishing_ = false, after_envelopes_ = false;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_GRPC_ENVELOPE_QUEUE_H_
