// Proofs of the clients' names, and a list that changes.

#include <utility>

#include "comm/federation/aggregator/roster/roster.h"

namespace dtnn::federation {
namespace {

// Between two readings of the list.
constexpr std::chrono::seconds kFollowEvery(1);
// Refusals by one list that are warnings: names are the callers' choice.
constexpr size_t kMostTold = 1000;

}  // namespace

absl::Status Roster::TakeIntroduction(Member& member, const Frame& frame) {
  DTNN_ASSIGN_OR_RETURN(Bytes binding, member.channel.binding());
  absl::StatusOr<Bytes> challenge = member.identity.Introduce(
      frame.body, std::move(binding), allowed_.has_value(), options_.identity);
  if (!challenge.ok()) {
    Refuse(member, std::string(challenge.status().message()));
    return absl::OkStatus();
  }
  member.channel.Send(FrameKind::kChallenge, 0, 0, *std::move(challenge));
  return absl::OkStatus();
}

bool Roster::RefuseUnproved(Member& member, const std::string& name) {
  if (!allowed_) return false;
  const absl::StatusOr<Ed25519PublicKey> key = member.identity.Prove(name, *allowed_);
  if (key.ok()) {
    member.identity_key = *key;
    return false;
  }
  const std::string why(key.status().message());
  const bool is_new = told_.size() < kMostTold && told_.insert(StrCat(name, ": ", why)).second;
  if (is_new) options_.Warn(StrCat("refused: ", member.channel.address(), ": ", why));
  End(member, why);
  return true;
}

void Roster::FollowAllowed() {
  follow_at_ = Clock::now() + kFollowEvery;
  if (!allowed_) return;
  if (!allowed_->Follow(options_.warn)) return;
  ++allowed_changes_;
  told_.clear();
  for (auto& [id, member] : members_) {
    if (member.name.empty() || Allows(member.name, member.identity_key)) continue;
    const bool is_listed = allowed_->Find(member.name) != nullptr;
    const std::string why =
        is_listed ? StrCat("the list of clients has another key for ", member.name, " now")
                  : StrCat(member.name, " is no longer on the list of clients that may take part");
    options_.Warn(StrCat("client ", member.name, " is sent away: ", why));
    End(member, why, is_listed ? kNewKey : kFinal);
  }
}

bool Roster::Allows(const std::string& name, const std::optional<Ed25519PublicKey>& key) const {
  return !allowed_ || (key && allowed_->Allows(name, *key));
}

}  // namespace dtnn::federation
