// How a client proves its name to the aggregator, and the aggregator that it is the right one, each
// by a key of Ed25519 of its own:
//
//   client -> aggregator  introduction  its name, a nonce
//   aggregator -> client  challenge     a nonce, whether it wants a proof, and its signature, if it
//                                       has a key
//   client -> aggregator  proof         a signature, or nothing where it has no key
//
// then the hello, or what the client asks. Each signs the transcript: which side it is, the version
// of the frames, the name, both nonces, and what binds these bytes to this connection
// (comm/transport/stream.h). So a recorded proof is worth nothing, nor is one that was made for
// another connection: a process between the two, that knows the job's secret and speaks with both,
// cannot pass on what they prove, except over TCP without TLS, where nothing binds.

#ifndef DTNN_COMM_FEDERATION_IDENTITY_IDENTITY_H_
#define DTNN_COMM_FEDERATION_IDENTITY_IDENTITY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "comm/federation/frame.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

using IdentityNonce = std::array<uint8_t, 32>;

// The longest bodies of the three frames.
inline constexpr size_t kMostIntroduction = 128, kMostChallenge = 128,
                        kMostProof = sizeof(Ed25519Signature);

struct Introduction {
  std::string name;
  IdentityNonce nonce{};
};

struct Challenge {
  IdentityNonce nonce{};
  bool wants_proof = false;
  std::optional<Ed25519Signature> signature = {};  // nothing: this aggregator has no key
};

// DataLoss for other bytes, InvalidArgument for a name that no client has.
Bytes ToBytes(const Introduction& message);
absl::StatusOr<Introduction> IntroductionFromBytes(std::span<const uint8_t> bytes);
Bytes ToBytes(const Challenge& message);
absl::StatusOr<Challenge> ChallengeFromBytes(std::span<const uint8_t> bytes);

enum class Side : uint8_t { kClient, kAggregator };

// What both ends know of their meeting.
struct Encounter {
  Introduction client;
  IdentityNonce aggregator_nonce{};
  Bytes binding = {};
};

// The bytes that this side signs.
Bytes TranscriptOf(Side side, const Encounter& encounter);

absl::StatusOr<Ed25519Signature> SignEncounter(Side side, const Encounter& encounter,
                                               const Secret& private_key);
absl::StatusOr<bool> ProvesEncounter(Side side, const Encounter& encounter,
                                     const Ed25519PublicKey& key,
                                     const Ed25519Signature& signature);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_IDENTITY_IDENTITY_H_
