// Datagrams that their own threads use too, to answer what they hear: until they go, while their
// threads may still hear something.

#ifndef DTNN_COMM_TRANSPORT_RELAY_SHARED_DATAGRAMS_H_
#define DTNN_COMM_TRANSPORT_RELAY_SHARED_DATAGRAMS_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "comm/transport/relay/datagrams.h"

namespace dtnn {

class SharedDatagrams {
 public:
  // For messages that are on their way when it goes.
  static constexpr std::chrono::milliseconds kLastMoment{500};

  explicit SharedDatagrams(std::unique_ptr<Datagrams> datagrams)
      : window_(datagrams->window()), datagrams_(std::move(datagrams)) {}
  // After it no handler is called.
  ~SharedDatagrams() {
    datagrams_->Flush(std::chrono::steady_clock::now() + kLastMoment);
    const std::unique_lock lock(mutex_);
    going_ = true;
  }

  absl::Status Open(const Instance& me, Datagrams::Handlers handlers,
                    const CommunicatorOptions& patience) {
    return datagrams_->Open(me, std::move(handlers), patience);
  }
  // From any thread, the datagrams' own too; not to itself.
  void Send(int to, std::string bytes) {
    const std::shared_lock lock(mutex_);
    if (!going_) datagrams_->Send(to, std::move(bytes));
  }
  bool Flush(std::chrono::steady_clock::time_point until) { return datagrams_->Flush(until); }
  std::string name() const { return datagrams_->name(); }
  size_t window() const { return window_; }

 private:
  std::shared_mutex mutex_;
  bool going_ = false;
  const size_t window_;
  const std::unique_ptr<Datagrams> datagrams_;  // the first to go: its threads use the others
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_SHARED_DATAGRAMS_H_
