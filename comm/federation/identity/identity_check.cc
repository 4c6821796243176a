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

ProofResult IdentityCheck::Prove(std::string_view name, const AllowedClients& list) const {
  const auto denied = [](const std::string& why) {
    return ProofResult{.key = std::nullopt, .why = why, .detail = why};
  };
  if (!proof_) {
    return denied(
        "this federation takes clients that prove their names; start it with the file of "
        "its identity key");
  }
  if (encounter_.client.name != name) {
    return denied(
        StrCat("it introduces itself as ", encounter_.client.name, ", and takes part as ", name));
  }
  const Ed25519PublicKey* const key = list.Find(name);
  // The signature of a name that is not there is checked too, or the time would tell.
  const absl::StatusOr<bool> proved =
      ProvesEncounter(Side::kClient, encounter_, key == nullptr ? list.AnyKey() : *key, *proof_);
  if (key != nullptr && proved.ok() && *proved) return {.key = *key};
  const std::string no_proof = StrCat("it does not prove that it is ", name, ": ");
  std::string detail;
  if (key == nullptr) {
    detail = StrCat("no client called ", name,
                    " is on the list of those that may take part; its line needs its public key");
  } else if (!proved.ok()) {
    detail = no_proof + std::string(proved.status().message());
  } else {
    detail = no_proof +
             "the list has another key for this name, or another process carries what the two say";
  }
  return {.key = std::nullopt,
          .why = no_proof +
                 "the list of those that may take part has another key for this name, or "
                 "no such client, or another process carries what the two say",
          .detail = std::move(detail)};
}

}  // namespace dtnn::federation
