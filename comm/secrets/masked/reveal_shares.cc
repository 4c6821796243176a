// What a client of a masked sum gives at its end, and for whom.

#include <algorithm>

#include "comm/secrets/masked/masked_client.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::masked {
namespace {

constexpr std::string_view kVotePurpose = "DTNN vote for the survivors of a sum";

}  // namespace

absl::Status MaskedClient::CheckSurvivors(const std::set<int>& survivors) const {
  for (const int client : survivors) {
    if (secrets_->shares.contains(client)) continue;
    if (!advertised_.contains(client) || graph_->AreNeighbours(client, advertisement_.client)) {
      return InvalidArgument("masked sum: client ", client, " cannot survive, it never shared");
    }
  }
  if (int(survivors.size()) < parameters_.least() || !survivors.contains(advertisement_.client)) {
    return InvalidArgument("masked sum: client ", advertisement_.client, " reveals nothing for ",
                           survivors.size(), " survivors: needs ", parameters_.least(),
                           ", itself among them");
  }
  if (!graph_->AreConnected(survivors)) {
    return InvalidArgument("masked sum: client ", advertisement_.client,
                           " reveals nothing for survivors that fall into groups without common "
                           "masks: each would have a sum of its own");
  }
  return absl::OkStatus();
}

absl::StatusOr<Secret> MaskedClient::VoteOf(int client) const {
  WireWriter context;
  context.Bytes(agreed_);
  context.Number(uint32_t(client));
  for (const int survivor : survivors_) context.Number(uint32_t(survivor));
  return DeriveSecret(bond_.key, kVotePurpose, context.bytes());
}

absl::StatusOr<Vote> MaskedClient::VoteFor(std::span<const int> survivors) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kReceived));
  if (parameters_.complete()) {
    return FailedPrecondition("masked sum: there are no votes where all are neighbours");
  }
  const std::set<int> survived(survivors.begin(), survivors.end());
  DTNN_RETURN_IF_ERROR(CheckSurvivors(survived));
  survivors_ = survived;
  stage_ = Stage::kVoted;
  DTNN_ASSIGN_OR_RETURN(const Secret proof, VoteOf(advertisement_.client));
  Vote vote = {.client = advertisement_.client};
  std::ranges::copy(proof.bytes(), vote.proof.begin());
  return vote;
}

absl::StatusOr<Reveal> MaskedClient::RevealShares(std::span<const Vote> votes) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kVoted));
  std::set<int> agree;
  for (const Vote& vote : votes) {
    if (!survivors_.contains(vote.client) || agree.contains(vote.client)) continue;
    DTNN_ASSIGN_OR_RETURN(const Secret proof, VoteOf(vote.client));
    if (proof.Equals(Secret(vote.proof))) agree.insert(vote.client);
  }
  if (int(agree.size()) < parameters_.least()) {
    return FailedPrecondition("masked sum: only ", agree.size(), " clients have the same list of ",
                              "survivors as client ", advertisement_.client, ", needs ",
                              parameters_.least());
  }
  return TakeShares(survivors_);
}

absl::StatusOr<Reveal> MaskedClient::RevealShares(std::span<const int> survivors) {
  DTNN_RETURN_IF_ERROR(Expect(Stage::kReceived));
  if (!parameters_.complete()) {
    return FailedPrecondition("masked sum: shares for neighbours are revealed after a vote");
  }
  const std::set<int> survived(survivors.begin(), survivors.end());
  DTNN_RETURN_IF_ERROR(CheckSurvivors(survived));
  return TakeShares(survived);
}

Reveal MaskedClient::TakeShares(const std::set<int>& survivors) {
  stage_ = Stage::kRevealed;
  Reveal reveal;
  reveal.client = advertisement_.client;
  for (const auto& [client, shares] : secrets_->shares) {
    const bool there = survivors.contains(client);
    reveal.entries.push_back({client, there, there ? shares.own_mask : shares.masking});
  }
  secrets_.reset();
  return reveal;
}

}  // namespace dtnn::masked
