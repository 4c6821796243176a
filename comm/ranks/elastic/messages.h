// What ranks and the coordinator of a job say to each other: messages of two fixed sizes, one per
// direction, so that nobody can make the other one allocate anything. They are structs of one
// machine type, as comm/transport/tcp's are.

#ifndef DTNN_COMM_RANKS_ELASTIC_MESSAGES_H_
#define DTNN_COMM_RANKS_ELASTIC_MESSAGES_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "comm/ranks/elastic/elastic_range.h"

namespace dtnn {

inline constexpr uint32_t kElasticMagic = 0x4c4e5444;  // "DTNL"

// Message of a rank.
struct ElasticWord {
  enum Kind : uint32_t {
    kJoin = 1,  // it waits for a place in the next generation
    kDone,      // the run is complete
    kStopped,   // it has ended before that, for all ranks: a signal to one of them, or an error
  };

  uint32_t magic = kElasticMagic, kind = kJoin;
  int64_t timeout_ms = 0;  // how long it waits for others
  // Where it listens, should it become rank 0: an address in numbers; empty: the coordinator's
  // (comm/transport/tcp/own_listener.h).
  char host[46] = {};
  uint16_t port = 0;
  uint8_t holds_state = 0;  // it has the run's last whole step
  uint8_t may_grow = 0;     // from which more ranks than before can continue too
  uint8_t reserved[6] = {};
  std::array<uint64_t, ElasticRange::kMost / 64> lost = {};  // of its last generation, by rank
};

// Message of the coordinator.
struct ElasticNotice {
  enum Kind : uint32_t {
    kFormed = 1,  // a generation, and its place in it
    kAlive,       // nothing has changed
    kFull,        // as many ranks as may be are there; it waits until one leaves
    kNewcomers,   // others wait for a place: pause after a step, and join again
    kBroken,      // a rank of that generation is gone
    kEnded,       // the run has come to its end
    kTooFew,      // fewer ranks are left than there must be
    kStateLost,   // no rank is left that has the run's state
    kNoRoom,      // too many wait already
  };

  uint32_t magic = kElasticMagic, kind = kAlive;
  int64_t generation = 0;  // from 1
  int32_t rank = 0, size = 0;
  int32_t min = 0, max = 0;
  char host[46] = {};  // of rank 0
  uint16_t port = 0;
  uint8_t keeps_state = 0;  // it was in the generation before, and what it holds counts
  uint8_t goes_on = 0;      // some rank holds the state
  uint8_t reserved[6] = {};
};

template <typename T>
std::string_view BytesOfMessage(const T& message) {
  static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
  return {reinterpret_cast<const char*>(&message), sizeof(message)};
}

// False where the bytes are not such a message.
template <typename T>
bool ReadMessage(std::string_view bytes, T& message) {
  if (bytes.size() != sizeof(message)) return false;
  std::memcpy(&message, bytes.data(), sizeof(message));
  message.host[sizeof(message.host) - 1] = '\0';
  return message.magic == kElasticMagic;
}

// Why a run cannot continue, of a notice that says so.
absl::Status ErrorOf(uint32_t kind, const ElasticRange& range);

// The purpose of the coordinator's door (comm/transport/meeting/door.h).
inline constexpr char kCoordinatorPurpose[] = "the coordinator of elastic ranks";

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_ELASTIC_MESSAGES_H_
