// How two ranks that have just connected recognise each other: four messages of fixed sizes, so
// that nobody can make the other one allocate anything.
//
//   connecting -> accepting  hello      version, who, to whom, how many ranks, a nonce
//   accepting  -> connecting challenge  a nonce, and the proof of knowing the job's secret
//   connecting -> accepting  proof      its own, and its card
//   accepting  -> connecting welcome    or that another process is that rank already
//
// Where one end uses TLS and the other does not, both are told so instead, in plain.
//
// Proofs are HMACs (job_secret.h) over both nonces, both ranks and the side's role: bytes of an
// earlier handshake, of another pair, or of the other direction prove nothing. After a refusal the
// connection is closed. Without sockets; tests and a fuzz target feed it bytes.

#ifndef DTNN_COMM_TCP_HANDSHAKE_H_
#define DTNN_COMM_TCP_HANDSHAKE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/crypto/job_secret.h"

namespace dtnn {

// What a rank that joins says of itself: where it listens, and what it shares with whom.
struct RankCard {
  char host[46] = {};  // an address in numbers
  uint16_t port = 0;
  uint64_t network_space = 0;  // comm/network_space.h
};

class Handshake {
 public:
  // The secret outlives the handshake. `to`: the rank that is called; `rank` that calls.
  static absl::StatusOr<Handshake> Connecting(const JobSecret& secret, int rank, int to, int size,
                                              const RankCard& card);
  // `expects`: whether that rank may still join, asked when it has proved to be one; nothing: all.
  static Handshake Accepting(const JobSecret& secret, int rank, int size,
                             std::function<bool(int rank)> expects = nullptr);

  // For an accepting side that uses TLS: whether somebody who says this first calls without, and
  // what to answer in plain. The caller's own end gives the reason then.
  static bool CallsWithoutTls(std::string_view begin);
  static std::string NeedsTls();

  // The size of the message that comes next; 0: none does.
  size_t wanted() const;
  // That message. An error, which says what the other side did, ends the handshake; what is to be
  // sent is sent all the same.
  absl::Status Take(std::string_view message);
  // What is to be sent now, once.
  std::string TakeOutput();
  bool done() const { return state_ == State::kDone; }
  // Of the accepting side: the caller has been challenged, and its proof comes next.
  bool challenged() const { return state_ == State::kProof; }

  // Of the accepting side, when done:
  int peer() const { return peer_; }
  const RankCard& card() const { return card_; }

 private:
  enum class State : uint8_t { kHello, kChallenge, kProof, kWelcome, kDone, kFailed };

  Handshake(const JobSecret& secret, State state, int rank, int peer, int size)
      : secret_(&secret), state_(state), rank_(rank), peer_(peer), size_(size) {}

  absl::Status TakeHello(std::string_view message);
  absl::Status TakeChallenge(std::string_view message);
  absl::Status TakeProof(std::string_view message);
  absl::Status TakeWelcome(std::string_view message);

  const JobSecret* secret_;
  std::function<bool(int)> expects_;
  State state_;
  int rank_, peer_, size_;
  RankCard card_;
  std::string hello_, output_;
  std::array<uint8_t, 32> nonce_ = {};  // the accepting side's
};

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_HANDSHAKE_H_
