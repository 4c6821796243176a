// How long an aggregator that has done its last round waits for clients to fetch the final
// parameters: `first`, and for as long as bytes go to some of them without a longer pause than
// `quiet`, but no longer than `most` in all. Thousands of clients share its network.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_LAST_WAIT_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_LAST_WAIT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace dtnn::federation {

class LastWait {
 public:
  using Clock = std::chrono::steady_clock;

  // `sent`: to all clients before, in bytes.
  LastWait(Clock::time_point begin, std::chrono::milliseconds first,
           std::chrono::milliseconds quiet, std::chrono::milliseconds most, uint64_t sent)
      : quiet_(quiet), most_(begin + most), end_(begin + first), sent_(sent) {}

  // `bytes`: that were sent to all by now, with those before.
  void Sent(uint64_t bytes, Clock::time_point now) {
    if (std::exchange(sent_, bytes) == bytes) return;
    end_ = std::max(end_, std::min(now + quiet_, most_));
  }
  Clock::time_point end() const { return end_; }

 private:
  const std::chrono::milliseconds quiet_;
  const Clock::time_point most_;
  Clock::time_point end_;
  uint64_t sent_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_LAST_WAIT_H_
