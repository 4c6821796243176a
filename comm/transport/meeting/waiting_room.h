// The callers that have not been recognised yet, wherever they come in: each has one of 128 places,
// for ten seconds.
//
// Where more come than have a place, one of the address that has most places loses its own, by
// chance. For a newcomer from that address itself only a caller that has been silent for a while
// counts, up to kSilence, by chance again; where there is none, the newcomer is refused, and may
// call again. So no address can keep out the callers of others; those that come do not always win
// over those that are about to be recognised, nor the other way round; and no caller can know when
// to call so that others lose.

#ifndef DTNN_COMM_TRANSPORT_MEETING_WAITING_ROOM_H_
#define DTNN_COMM_TRANSPORT_MEETING_WAITING_ROOM_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtnn {

struct WaitingCaller {
  std::string_view host;                        // the address that it calls from
  std::chrono::steady_clock::time_point heard;  // when something came from it last
};

// Longer than an answer takes on its way around the world.
inline constexpr std::chrono::milliseconds kSilence(500);

// The index of the one that loses its place. The last one is the newcomer; there is at least one.
// `random`: of 64 bits.
size_t CallerToDrop(std::span<const WaitingCaller> callers,
                    std::chrono::steady_clock::time_point now, uint64_t random);

template <typename T>
class WaitingRoom {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WaitingRoom(uint64_t seed) : random_(seed) {}
  WaitingRoom() : WaitingRoom(std::random_device()()) {}

  static constexpr size_t kPlaces = 128;
  static constexpr std::chrono::seconds kTime{10};

  struct Place {
    T caller;
    std::string host;         // empty: not known
    Clock::time_point end;    // then its time is over
    Clock::time_point heard;  // when something came from it last
  };

  // The oldest first. A caller that leaves is erased here.
  std::list<Place>& places() { return places_; }
  const std::list<Place>& places() const { return places_; }

  // Takes in a newcomer. The caller that loses its place for it, which may be the newcomer itself.
  std::optional<T> Enter(T caller, std::string host, Clock::time_point now) {
    places_.push_back({std::move(caller), std::move(host), now + kTime, now});
    if (places_.size() <= kPlaces) return std::nullopt;
    std::vector<WaitingCaller> callers;
    for (const Place& place : places_) callers.push_back({place.host, place.heard});
    const auto drop =
        std::next(places_.begin(), std::ptrdiff_t(CallerToDrop(callers, now, random_())));
    T dropped = std::move(drop->caller);
    places_.erase(drop);
    return dropped;
  }

  // When the first of them runs out of time.
  Clock::time_point next() const {
    Clock::time_point next = Clock::time_point::max();
    for (const Place& place : places_) next = std::min(next, place.end);
    return next;
  }

 private:
  std::list<Place> places_;
  std::mt19937_64 random_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MEETING_WAITING_ROOM_H_
