// The places for updates on their way: of so many together. Other clients have to wait before
// they may send, and get places in the order in which they began to wait. While some do, one that
// sends gets a quarter of the deadline, and loses its place, with its update, when nothing of it
// has come for 30 seconds.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_RECEIVE_PLACES_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_RECEIVE_PLACES_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "tensor/text/str_cat.h"

namespace dtnn::federation {

class ReceivePlaces {
 public:
  using Clock = std::chrono::steady_clock;

  // A client that may have one; it stays where it is in memory while it has one, or waits.
  struct Holder {
    bool holds = false;
    Clock::time_point from{}, heard{};  // since when, and when bytes of it came
  };

  // Updates of this size in so many bytes, but always two.
  static uint64_t Count(uint64_t bytes, size_t update_bytes) {
    return std::max<uint64_t>(2, bytes / update_bytes);
  }

  explicit ReceivePlaces(uint64_t count) : count_(count) {}

  // False: it has to wait, and asks again.
  bool Take(Holder& holder, Clock::time_point now) {
    if (holder.holds) return true;
    const auto place = std::ranges::find(waiting_, &holder);
    if (uint64_t(place - waiting_.begin()) >= count_ - held_) {
      if (waiting_.empty()) crowd_since_ = now;
      if (place == waiting_.end()) waiting_.push_back(&holder);
      return false;
    }
    if (place != waiting_.end()) waiting_.erase(place);
    ++held_;
    holder = {.holds = true, .from = now, .heard = now};
    return true;
  }
  // Its update is there, or will not come.
  void Release(Holder& holder) {
    std::erase(waiting_, &holder);
    held_ -= std::exchange(holder.holds, false) ? 1 : 0;
  }
  bool SomeWait() const { return !waiting_.empty(); }
  // Nobody was served for so long.
  void Excuse(Clock::duration time) { crowd_since_ += time; }

  // Where others wait: why this one, of whose update so many chunks are there, loses its place;
  // nothing where it does not.
  std::optional<std::string> WhyLost(const Holder& holder, Clock::time_point now,
                                     std::chrono::milliseconds deadline, size_t there,
                                     size_t chunks) const {
    if (!holder.holds || waiting_.empty()) return std::nullopt;
    const bool silent = now >= holder.heard + kMostSilence;
    if (!silent && now < std::max(holder.from, crowd_since_) + deadline / 4) return std::nullopt;
    return StrCat("its update ", silent ? "has stopped after " : "is slow: ", there, " of ", chunks,
                  " chunks, and other clients wait");
  }

 private:
  // How long nothing may come of an update for whose place others wait.
  static constexpr std::chrono::seconds kMostSilence{30};

  const uint64_t count_;
  uint64_t held_ = 0;
  std::deque<const Holder*> waiting_;
  Clock::time_point crowd_since_{};  // where some wait: since when
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_RECEIVE_PLACES_H_
