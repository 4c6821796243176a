// How two processes of a job that have just connected recognise each other: four messages of fixed
// sizes, so that nobody can make the other one allocate anything.
//
//   calling   -> answering  hello      version, the purpose of the door that it looks for, a nonce
//   answering -> calling    challenge  the door's purpose, a nonce, proof of knowing the secret
//   calling   -> answering  proof      its own, and its card
//   answering -> calling    welcome    or why it is refused
//
// The first bytes of a hello and of a challenge are the same in all versions, and are judged before
// the others come: so programs of different versions learn of it. Where one end uses TLS and
// the other does not, both get an unencrypted message that says so.
//
// Proofs are HMACs (job_secret.h) over both nonces, the purpose and the side's role: bytes of an
// earlier handshake, of another door, or of the other direction prove nothing. After a refusal the
// connection is closed. Without sockets; tests and a fuzz target feed it bytes.

#ifndef DTNN_COMM_TRANSPORT_MEETING_HANDSHAKE_H_
#define DTNN_COMM_TRANSPORT_MEETING_HANDSHAKE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/job_secret.h"

namespace dtnn {

// What a caller says of itself, beyond the purpose for which it calls.
inline constexpr size_t kCardBytes = 64;
// The longest purpose; printable characters.
inline constexpr size_t kMostPurpose = 47;

class Handshake {
 public:
  // Whether the caller that shows this card may come in, asked when it has proved to know the
  // secret; it receives an error's message. Nothing: all may.
  using Admit = std::function<absl::Status(std::string_view card)>;

  // The secret outlives the handshake. `card`: kCardBytes at most; zeros follow.
  static absl::StatusOr<Handshake> Calling(const JobSecret& secret, std::string_view purpose,
                                           std::string_view card = "");
  static Handshake Answering(const JobSecret& secret, std::string_view purpose,
                             Admit admit = nullptr);

  // For an answering side that uses TLS: whether somebody who says this first calls without, and
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
  // On the answering side: the caller has been challenged, and its proof comes next.
  bool challenged() const { return state_ == State::kProof; }
  // On the calling side: its proof is sent, so the other side may accept it at any moment.
  bool proved() const { return state_ == State::kWelcome; }
  // On the answering side, when done: kCardBytes.
  const std::string& card() const { return card_; }

 private:
  enum class State : uint8_t {
    kHelloHead,
    kHello,
    kChallengeHead,
    kChallenge,
    kProof,
    kWelcome,
    kDone,
    kFailed,
  };

  Handshake(const JobSecret& secret, State state, std::string_view purpose)
      : secret_(&secret), state_(state), purpose_(purpose) {}

  absl::Status TakeHelloHead(std::string_view message);
  absl::Status TakeHello(std::string_view message);
  absl::Status TakeChallengeHead(std::string_view message);
  absl::Status TakeChallenge(std::string_view message);
  absl::Status TakeProof(std::string_view message);
  absl::Status TakeWelcome(std::string_view message);

  const JobSecret* secret_;
  State state_;
  std::string purpose_;
  Admit admit_;
  std::string card_;
  std::string head_;  // of the message whose rest comes next
  std::string hello_, output_;
  std::array<uint8_t, 32> nonce_ = {};  // the answering side's
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MEETING_HANDSHAKE_H_
