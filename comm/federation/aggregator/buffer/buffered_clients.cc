// The clients that rounds that do not wait ask.

#include <algorithm>
#include <cmath>

#include "comm/federation/aggregator/buffer/buffered_rounds.h"
#include "comm/federation/aggregator/round_messages.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// Between two looks whether clients are there.
constexpr milliseconds kLook(200);

}  // namespace

size_t BufferedRounds::CountThere() {
  size_t there = 0;
  for (const auto& [id, member] : roster_.members()) {
    const bool counts =
        !member.name.empty() && !lost_.Excludes(member.name) && roster_.Fulfils(member);
    there += counts ? 1 : 0;
  }
  return there;
}

std::vector<Candidate> BufferedRounds::Candidates() {
  std::vector<Candidate> candidates;
  for (const auto& [id, member] : roster_.members()) {
    if (member.name.empty() || member.attempt != nullptr || !roster_.Fulfils(member)) continue;
    if (lost_.Excludes(member.name) || trained_.contains(member.name)) continue;
    candidates.push_back({.id = id, .name = member.name, .losses = lost_.LossesOf(member.name)});
  }
  return candidates;
}

absl::Status BufferedRounds::AskClients() {
  if (buffer_.full()) return absl::OkStatus();
  const size_t there = CountThere();
  if (there < size_t(options_.min_clients)) return absl::OkStatus();
  const auto share = size_t(std::ceil(options_.client_fraction * double(there) - 1e-9));
  turns_ = std::clamp<size_t>(share, size_t(options_.min_clients), size_t(options_.MostClients()));
  if (running_.size() >= turns_) return absl::OkStatus();
  std::vector<Candidate> candidates = Candidates();
  if (candidates.empty()) return absl::OkStatus();
  const int changes = roster_.allowed_changes();
  roster_.FollowAllowed();
  if (roster_.allowed_changes() != changes || roster_.allowed_settles()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Choice choice,
                        ChooseClients(std::move(candidates), {.most = turns_ - running_.size(),
                                                              .seed = *choice_seed_,
                                                              .attempt = state_.attempts}));
  for (const int id : choice.ids) DTNN_RETURN_IF_ERROR(AskOne(id));
  return absl::OkStatus();
}

absl::Status BufferedRounds::AskOne(int id) {
  if (bodies_.empty()) {
    DTNN_ASSIGN_OR_RETURN(bodies_, ParameterBodies(state_));
  }
  Member& member = roster_.members().at(id);
  const uint64_t number = ++state_.attempts;
  auto ask = std::make_shared<Ask>(
      *parts_, number, state_.rounds_done,
      Asked{.name = member.name, .samples = member.samples, .steps = member.steps},
      member.identity_key);
  RoundStart start = {.round = state_.rounds_done + 1,
                      .rounds = options_.rounds,
                      .samples = {member.samples},
                      .quorum = 1,
                      .deadline = std::chrono::duration<double>(options_.deadline).count(),
                      .difference = true,
                      .compression = options_.compression,
                      .parameters = state_.from};
  if (options_.strategy.by_steps()) start.steps = {member.steps};
  if (options_.strategy.strategy == Strategy::kFedprox) start.proximal = options_.strategy.proximal;
  member.attempt = ask;
  member.position = 0;
  options_.Observer().OnAsk(member.name);
  SendRound(member, number, start, bodies_);
  running_.push_back(std::move(ask));
  return absl::OkStatus();
}

std::string BufferedRounds::Trouble() {
  const size_t there = CountThere();
  const auto busy = std::ranges::count_if(roster_.members(), [](const auto& id_and_member) {
    return id_and_member.second.attempt != nullptr;
  });
  std::string text = StrCat(there, there == 1 ? " is" : " are", " there",
                            TextOfOthers(options_.select, roster_.CountUnfit()));
  if (!trained_.empty()) {
    StrAppend(&text, "; ", trained_.size(), trained_.size() == 1 ? " has" : " have",
              " given an update of the current parameters");
  }
  if (busy > 0) {
    StrAppend(&text, "; ", busy, busy == 1 ? " has" : " have",
              " not answered yet what was asked before");
  }
  return text;
}

absl::Status BufferedRounds::AwaitClients() {
  Wait wait(
      {.timeout = options_.timeout, .warn_after = options_.timeout / 5, .warn = options_.warn});
  const auto text = [&] {
    return Wait::Text{
        .who = StrCat("round ", state_.rounds_done + 1),
        .what = StrCat("update ", buffer_.updates() + 1, " of ", options_.buffer.size, ", and ",
                       options_.min_clients, " clients that can be asked; ", Trouble())};
  };
  const absl::Status waited = wait.For(text, [&](Clock::time_point until) -> absl::StatusOr<bool> {
    DTNN_RETURN_IF_ERROR(AskClients());
    if (!running_.empty()) return true;
    DTNN_RETURN_IF_ERROR(roster_.Turn(std::min(until, Clock::now() + kLook)));
    Settle();
    return false;
  });
  return absl::IsDeadlineExceeded(waited) ? Unavailable(waited.message()) : waited;
}

}  // namespace dtnn::federation
