// What is to be written to one gRPC stream: one envelope at a time, the others wait.
//
// gRPC wants an envelope to live until it is written, and no write after the end. Any thread may
// Push; `write` and `finish` are called without a lock, one call at a time, and never both at once.
//
// What waits is bounded. Ranks that keep to what they are granted (relay_link.h) never reach the
// bound, however slow the reader is; where one does not, envelopes are dropped, and the reader
// notices that messages are missing.

#ifndef DTNN_COMM_TRANSPORT_GRPC_ENVELOPE_QUEUE_H_
#define DTNN_COMM_TRANSPORT_GRPC_ENVELOPE_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "comm/transport/grpc/switchboard.pb.h"
#include "comm/transport/relay/datagrams.h"

namespace dtnn {

// What one rank may send another before that has read of it (Datagrams::window).
inline constexpr size_t kGrpcWindow = 4 << 20;

class EnvelopeQueue {
 public:
  // What waits of one rank for one other at most: a window, a first message, which is as long as
  // any, and small ones.
  static constexpr size_t kMostOfOneRank = kGrpcWindow + 2 * Datagrams::kMostBytes;

  // `most`: bytes that wait, where an envelope is kCost and its packet.
  EnvelopeQueue(size_t most, std::function<void(const proto::Envelope&)> write,
                std::function<void()> finish)
      : most_(most), write_(std::move(write)), finish_(std::move(finish)) {}

  // Dropped after Finish, and where too much waits.
  void Push(proto::Envelope envelope) {
    const proto::Envelope* first = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const size_t cost = CostOf(envelope);
      if (finishing_ || waiting_ + cost > most_) return;
      waiting_ += cost;
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
      waiting_ -= CostOf(envelopes_.front());
      envelopes_.pop_front();
      if (!ok || (finishing_ && !after_envelopes_)) {
        envelopes_.clear();
        waiting_ = 0;
      }
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
  bool AwaitEmpty(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    return empty_.wait_until(lock, until, [this] { return !writing_; });
  }

 private:
  static constexpr size_t kCost = 1 << 10;
  static size_t CostOf(const proto::Envelope& envelope) { return kCost + envelope.packet().size(); }

  const size_t most_;
  const std::function<void(const proto::Envelope&)> write_;
  const std::function<void()> finish_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::deque<proto::Envelope> envelopes_;  // whose elements never move
  size_t waiting_ = 0;                     // what they cost
  bool writing_ = false, finishing_ = false, after_envelopes_ = false;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_GRPC_ENVELOPE_QUEUE_H_
