#include "comm/federation/client/prove_identity.h"

#include <optional>
#include <utility>

#include "comm/federation/identity/identity.h"
#include "comm/federation/messages.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

std::optional<size_t> Allowed(const FrameHeader& header) {
  if (header.kind == FrameKind::kChallenge) return kMostChallenge;
  if (header.kind == FrameKind::kRefusal) return kMostTextBytes;
  return std::nullopt;
}

absl::Status CheckAggregator(const ClientIdentity& own, const Encounter& encounter,
                             const std::optional<Ed25519Signature>& signature) {
  if (!own.aggregator) return absl::OkStatus();
  bool proved = false;
  if (signature) {
    DTNN_ASSIGN_OR_RETURN(
        proved, ProvesEncounter(Side::kAggregator, encounter, *own.aggregator, *signature));
  }
  if (proved) return absl::OkStatus();
  return FailedPrecondition(signature ? "does not prove that it has the aggregator's key "
                                      : "has no key, but this client expects the aggregator's key ",
                            ToText(*own.aggregator),
                            ": another process answers in its place, or its identity has changed");
}

// Until the aggregator has proved that it is the right one, where the client expects one: what both
// have said, and whether the client's proof is wanted.
absl::StatusOr<bool> MeetAggregator(const CallOptions& options, Channel& channel,
                                    Encounter& encounter) {
  DTNN_RETURN_IF_ERROR(FillRandom(encounter.client.nonce));
  channel.Send(FrameKind::kIntroduce, 0, 0, ToBytes(encounter.client));
  std::optional<Frame> frame;
  DTNN_RETURN_IF_ERROR(AwaitAnswer(options, channel, [&]() -> absl::StatusOr<bool> {
    DTNN_ASSIGN_OR_RETURN(frame, channel.Receive(Allowed));
    return frame.has_value();
  }));
  if (frame->header.kind == FrameKind::kRefusal) return RefusalOf(*frame);
  DTNN_ASSIGN_OR_RETURN(const Challenge challenge, ChallengeFromBytes(frame->body));
  encounter.aggregator_nonce = challenge.nonce;
  DTNN_ASSIGN_OR_RETURN(encounter.binding, channel.binding());
  DTNN_RETURN_IF_ERROR(CheckAggregator(options.identity, encounter, challenge.signature));
  return challenge.wants_proof;
}

}  // namespace

absl::Status ProveIdentity(const CallOptions& options, Channel& channel) {
  const ClientIdentity& own = options.identity;
  if (own.key_file.empty() && !own.aggregator) return absl::OkStatus();
  Encounter encounter = {.client = {.name = own.name}};
  const absl::StatusOr<bool> wants_proof = MeetAggregator(options, channel, encounter);
  // Another process that answers must not be able to end a client that expects another one.
  if (own.aggregator && !wants_proof.ok() && !absl::IsCancelled(wants_proof.status()) &&
      !IsOfConnection(wants_proof.status())) {
    return absl::AbortedError(wants_proof.status().message());
  }
  DTNN_RETURN_IF_ERROR(wants_proof.status());
  if (!*wants_proof) return absl::OkStatus();
  Bytes proof;
  if (!own.key_file.empty()) {
    const absl::StatusOr<Secret> key = ReadEd25519File(own.key_file);
    // A file that is being replaced is there in a moment.
    if (!key.ok()) return Unavailable(key.status().message());
    DTNN_ASSIGN_OR_RETURN(const Ed25519Signature signature,
                          SignEncounter(Side::kClient, encounter, *key));
    proof.assign(signature.begin(), signature.end());
  }
  channel.Send(FrameKind::kProof, 0, 0, std::move(proof));
  return absl::OkStatus();
}

}  // namespace dtnn::federation
