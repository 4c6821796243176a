// What a client has proved over one connection (identity.h): kept until it says under which name it
// wants to take part, and judged then by the list of that moment.

#ifndef DTNN_COMM_FEDERATION_IDENTITY_IDENTITY_CHECK_H_
#define DTNN_COMM_FEDERATION_IDENTITY_IDENTITY_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/frame.h"
#include "comm/federation/identity/allowed_clients.h"
#include "comm/federation/identity/identity.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

struct ProofResult {
  std::optional<Ed25519PublicKey> key;  // by which the name is proved; nothing: it is not
  // Why not, with what to do: for the other end, which learns nothing of the list from it, and for
  // the log of the list's owner.
  std::string why = {}, detail = {};
};

class IdentityCheck {
 public:
  // The longest body that the frame may have; nothing for one that is not its turn.
  std::optional<size_t> Allowed(FrameKind kind) const;

  // Takes an introduction, and gives the challenge for it, signed with `own`. `binding`: of the
  // connection. The errors of IntroductionFromBytes.
  absl::StatusOr<Bytes> Introduce(std::span<const uint8_t> introduction, Bytes binding,
                                  bool wants_proof, const std::optional<Secret>& own);
  absl::Status TakeProof(std::span<const uint8_t> proof);

  // The name in the introduction, which nothing proves yet; empty: there was none.
  const std::string& name() const { return encounter_.client.name; }
  // Whether the other end has proved that it is the client of that name, which is on the list.
  ProofResult Prove(std::string_view name, const AllowedClients& list) const;

 private:
  enum class State : uint8_t { kNew, kChallenged, kDone };

  State state_ = State::kNew;
  Encounter encounter_;
  std::optional<Ed25519Signature> proof_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_IDENTITY_IDENTITY_CHECK_H_
