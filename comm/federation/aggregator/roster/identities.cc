// Proofs of the clients' names, and a list that changes.

#include <utility>

#include "comm/federation/aggregator/roster/roster.h"
#include "comm/transport/meeting/waiting_room.h"

namespace dtnn::federation {
namespace {

// Between two readings of the list.
constexpr std::chrono::seconds kFollowEvery(1);
// Callers that have not proved a name, where all must.
constexpr size_t kMostUnproved = 64;

std::string HostOf(std::string_view address) {
  return std::string(address.substr(0, address.rfind(':')));
}

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
  const ProofResult result = member.identity.Prove(name, *allowed_);
  if (result.key) {
    member.identity_key = *result.key;
    return false;
  }
  LogRefusal(refusals_, StrCat(member.channel.address(), ": ", result.detail));
  End(member, result.why);
  return true;
}

void Roster::MakePlace() {
  if (!allowed_) return;
  std::vector<int> ids;
  std::vector<std::string> hosts;
  for (const auto& [id, member] : members_) {
    if (member.identity_key) continue;
    ids.push_back(id);
    hosts.push_back(HostOf(member.channel.address()));
  }
  if (ids.size() <= kMostUnproved) return;
  std::vector<WaitingCaller> callers;
  for (size_t i = 0; i < ids.size(); ++i) {
    callers.push_back({hosts[i], members_.at(ids[i]).since});
  }
  Remove(ids[CallerToDrop(callers, Clock::now(), random_())],
         StrCat("there are ", kMostUnproved, " connections without a proof already"));
}

void Roster::FollowAllowed() {
  const Clock::time_point now = Clock::now();
  follow_at_ = now + kFollowEvery;
  if (!allowed_) return;
  if (!allowed_->Follow(now, options_.warn)) return;
  ++allowed_changes_;
  for (auto& [id, member] : members_) {
    if (member.name.empty() || Allows(member.name, member.identity_key)) continue;
    const bool is_listed = allowed_->Find(member.name) != nullptr;
    const std::string why =
        is_listed ? StrCat("the list of clients has another key for ", member.name, " now")
                  : StrCat(member.name, " is no longer on the list of clients that may take part");
    options_.Observer().OnRevoked(member.name);
    options_.Warn(StrCat("client ", member.name, " is sent away: ", why));
    End(member, why, is_listed ? kNewKey : kFinal);
  }
}

absl::Status Roster::SettleAllowed() {
  FollowAllowed();
  while (allowed_settles()) {
    DTNN_RETURN_IF_ERROR(Turn(Clock::time_point::max()));
    FollowAllowed();
  }
  return absl::OkStatus();
}

bool Roster::Allows(const std::string& name, const std::optional<Ed25519PublicKey>& key) const {
  return !allowed_ || (key && allowed_->Allows(name, *key));
}

}  // namespace dtnn::federation
