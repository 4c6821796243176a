#include "comm/federation/identity/identity_check.h"

#include <algorithm>
#include <utility>

#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::federation {

std::optional<size_t> IdentityCheck::Allowed(FrameKind kind) const {
  if (kind == FrameKind::kIntroduce && state_ == State::kNew) return kMostIntroduction;
  if (kind == FrameKind::kProof && state_ == State::kChallenged) return kMostProof;
  return std::nullopt;
}

absl::StatusOr<Bytes> IdentityCheck::Introduce(std::span<const uint8_t> introduction, Bytes binding,
                                               bool wants_proof, const std::optional<Secret>& own) {
  DTNN_ASSIGN_OR_RETURN(encounter_.client, IntroductionFromBytes(introduction));
  DTNN_RETURN_IF_ERROR(FillRandom(encounter_.aggregator_nonce));
  encounter_.binding = std::move(binding);
  Challenge challenge = {.nonce = encounter_.aggregator_nonce, .wants_proof = wants_proof};
  if (own) {
    DTNN_ASSIGN_OR_RETURN(challenge.signature, SignEncounter(Side::kAggregator, encounter_, *own));
  }
  state_ = wants_proof ? State::kChallenged : State::kDone;
  return ToBytes(challenge);
}

absl::Status IdentityCheck::TakeProof(std::span<const uint8_t> proof) {
  state_ = State::kDone;
  if (proof.empty()) return absl::OkStatus();  // of a client without a key
  Ed25519Signature signature;
  if (proof.size() != signature.size()) {
    return DataLoss("a proof of ", proof.size(), " bytes, expected ", signature.size());
  }
  std::ranges::copy(proof, signature.begin());
  proof_ = signature;
  return absl::OkStatus();
}

absl::StatusOr<Ed25519PublicKey> IdentityCheck::Prove(std::string_view name,
                                                      const AllowedClients& list) const {
  const auto denied = [](const auto&... why) {
    return absl::PermissionDeniedError(StrCat(why...));
  };
  if (!proof_) {
    return denied(
        "this federation takes clients that prove their names; start it with the file of "
        "its identity key");
  }
  const Ed25519PublicKey* const key = list.Find(name);
  if (key == nullptr) {
    return denied("no client called ", name,
                  " is on the list of those that may take part; the aggregator's owner can add it, "
                  "with its public key");
  }
  if (encounter_.client.name != name) {
    return denied("it has proved to be ", encounter_.client.name, ", and takes part as ", name);
  }
  DTNN_ASSIGN_OR_RETURN(const bool proved,
                        ProvesEncounter(Side::kClient, encounter_, *key, *proof_));
  if (proved) return *key;
  return denied("it does not prove that it is ", name,
                ": the list has another key for this name, or another process carries what the two "
                "say");
}

}  // namespace dtnn::federation
