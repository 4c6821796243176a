// The two ends of a stream between two ranks whose bytes somebody else carries: this rank's.
//
// The higher rank calls, the lower one answers, each with a new public key of X25519. The key of
// the stream follows from what the two agree on and from the job's secret: only these two ends can
// read it or write it, not even other processes that know the secret. Packets of earlier
// connections, of other ranks, of the other direction, or twice the same, are none. Which process
// answers, the secret alone does not say: any that knows it can. Of several processes that call as
// one rank, the first that sends something in its stream has the link, and the others learn it: a
// call proves nothing, as anybody can repeat it. A packet that is missing breaks the connection.
// Each side may send `window` of what the other has not read yet, where a packet counts as its
// bytes and kPacketCost: so neither the carrier nor the reader is ever flooded.
//
// Threads: Read, Write and CloseWriting by one, the carrier's Take and Leave by another.

#ifndef DTNN_COMM_TRANSPORT_RELAY_RELAY_LINK_H_
#define DTNN_COMM_TRANSPORT_RELAY_RELAY_LINK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/descriptors/wakeup.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/crypto/x25519.h"
#include "comm/transport/relay/datagrams.h"
#include "comm/transport/relay/packet.h"
#include "comm/transport/stream.h"

namespace dtnn {

class RelayLink {
 public:
  static constexpr size_t kPacketCost = 16 << 10;

  // What each end says of itself.
  struct Card {
    Instance instance;
    uint64_t network_space = 0;  // comm/network_space.h
  };
  struct Options {
    int peer = 0, size = 0;
    Card card;  // of this rank
    size_t window = 0;
  };

  // `send` never waits; `changed` is called, without a lock, where established() or error()
  // changes. The secret outlives it.
  RelayLink(const Options& options, const JobSecret& secret, std::function<void(std::string)> send,
            std::function<void()> changed);
  RelayLink(const RelayLink&) = delete;
  RelayLink& operator=(const RelayLink&) = delete;

  // With which calls are sealed.
  static absl::StatusOr<Secret> CallKey(const JobSecret& secret);

  // Called by the higher rank, again and again until it is established.
  void Call();
  void Take(const Packet& packet);
  // The process at the other end is gone; `why`, where the carrier is.
  void Leave(const Instance& who);
  void Cut(const absl::Status& why);

  bool established() const;
  // The error of establishing it; OK while it may still succeed.
  absl::Status error() const;
  // The last packet that could not be opened, or that the other side says so of ours; empty: none.
  std::string refused() const;
  // The other end's, once established, also after it has left.
  Card card() const;

  // Once established; one. It must not outlive the link.
  std::unique_ptr<Stream> MakeStream();

 private:
  friend class RelayStream;
  using Kind = PacketHeader::Kind;
  enum class State : uint8_t { kApart, kAnswered, kTogether };
  // A process that has called and was answered.
  struct Caller {
    X25519PublicKey public_key = {};
    Card card;
    Secret key;  // of its stream
  };

  absl::Status MakeKeys();
  // All with the lock.
  void Send(Kind kind, const Secret& key, int64_t number, std::span<const uint8_t> payload);
  void SendInStream(Kind kind, std::span<const uint8_t> payload);
  absl::StatusOr<Secret> AnswerKey(const X25519PublicKey& called) const;
  // With that public key of the peer's.
  absl::StatusOr<Secret> StreamKey(const X25519PublicKey& peer) const;
  absl::Status TakeCall(const Packet& packet);
  absl::Status TakeAnswer(const Packet& packet);
  absl::Status TakeInStream(const Packet& packet);
  // Whose packet it is has the link; false: it is of none that has called.
  bool ChooseCaller(const Packet& packet);
  void SendReady();
  void SendRead();
  void Fail(const absl::Status& why);

  absl::StatusOr<size_t> Read(std::span<std::byte> into);
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from);
  void CloseWriting();
  absl::StatusOr<std::vector<uint8_t>> Binding() const;

  const Options options_;
  const JobSecret& secret_;
  const std::function<void(std::string)> send_;
  const std::function<void()> changed_;
  const Wakeup wakeup_;  // readable when there is something to read, or to write again

  mutable std::mutex mutex_;
  State state_ = State::kApart;
  Secret private_key_;
  X25519PublicKey own_ = {}, peers_ = {};  // public keys
  std::deque<Caller> callers_;             // while none of them has the link
  std::optional<Secret> key_;
  Card card_;
  std::string refused_;
  absl::Status error_;            // why no more comes, after the inbox
  int64_t sent_ = 0, taken_ = 0;  // packets of the stream
  std::deque<WipedVector<uint8_t>> inbox_;
  size_t inbox_at_ = 0;  // in the first
  // Costs so far, as above.
  uint64_t written_ = 0, acknowledged_ = 0, received_ = 0, read_ = 0, told_read_ = 0;
  bool ended_ = false;  // by this side
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_RELAY_LINK_H_
