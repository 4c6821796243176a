// One attempt at a round: what its clients are sent.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "comm/federation/aggregator/round_messages.h"
#include "comm/federation/aggregator/rounds.h"
#include "comm/federation/agreed.h"
#include "comm/federation/factors.h"
#include "tensor/errors.h"

namespace dtnn::federation {

absl::StatusOr<std::shared_ptr<Attempt>> Rounds::BeginAttempt(const std::vector<int>& chosen) {
  ++state_.attempts;
  DTNN_RETURN_IF_ERROR(Charge(int(chosen.size())));
  std::vector<int64_t> samples, steps, clients;
  bool some_are_groups = false;
  for (const int id : chosen) {
    const Member& member = roster_.members().at(id);
    samples.push_back(member.samples);
    if (options_.strategy.by_steps()) steps.push_back(member.steps);
    clients.push_back(std::max<int64_t>(1, member.clients));
    some_are_groups |= member.clients > 0;
  }
  if (!some_are_groups) clients.clear();
  all_samples_ = std::max(all_samples_, roster_.Size().samples);
  const std::vector<double> factors = ClientFactors(terms_.weighting, samples, steps, clients);
  std::vector<Asked> asked;
  asked_keys_.clear();
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Member& member = roster_.members().at(chosen[i]);
    asked_keys_.push_back(member.identity_key);
    asked.push_back({.name = member.name,
                     .samples = member.samples,
                     .steps = member.steps,
                     .clients = member.clients,
                     .factor = factors[i]});
  }
  clip_ = ClipOfRound(protector_, options_.min_clients, int(chosen.size()), state_);
  // The same for all: clients of a protected sum compare what they have received.
  const std::chrono::milliseconds deadline = DeadlineOfAttempt();
  DTNN_ASSIGN_OR_RETURN(const Secret job, secret_.Derive(kTagPurpose, nonce_));
  const auto send = [this, chosen](int position, FrameKind kind, uint32_t index, SharedBytes body) {
    const auto member = roster_.members().find(chosen[size_t(position)]);
    if (member == roster_.members().end()) return;
    member->second.channel.Send(kind, state_.attempts, index, std::move(body));
  };
  DTNN_ASSIGN_OR_RETURN(
      std::shared_ptr<Attempt> attempt,
      Attempt::Create(
          {.number = state_.attempts,
           .nonce = nonce_,
           .quorum = options_.min_clients,
           .deadline = deadline,
           .max_update_norm = options_.max_update_norm,
           .weighting = terms_.weighting,
           .robust = options_.robust,
           .compression = options_.compression,
           .trainable = size_t(options_.model.trainable),
           .receive_bytes = options_.receive_bytes,
           .awaits_confirm = true,
           .run = [this](std::function<void()> work) { sum_thread_.Do(std::move(work)); },
           .sum_begins = options_.sum_begins},
          protector_, job, ValuesOfUpdate(options_.model, terms_.control), state_.parameters, asked,
          send));
  DTNN_ASSIGN_OR_RETURN(const std::vector<SharedBytes> bodies,
                        ParameterBodies(state_, size_t(options_.model.trainable), terms_.control));
  for (size_t i = 0; i < chosen.size(); ++i) {
    Member& member = roster_.members().at(chosen[i]);
    member.attempt = attempt;
    member.position = int(i);
    SendRound(member, state_.attempts,
              {.round = state_.rounds_done + 1,
               .rounds = terms_.rounds,
               .position = uint32_t(i),
               .samples = samples,
               .weighting = terms_.weighting,
               .steps = steps,
               .clients = clients,
               .quorum = uint32_t(options_.min_clients),
               .proximal = terms_.proximal,
               .deadline = std::chrono::duration<double>(deadline).count(),
               .difference = options_.compression.on(),
               .control = terms_.control,
               .clip = clip_,
               .compression = options_.compression,
               .parameters = state_.from},
              bodies);
  }
  return attempt;
}

void Rounds::RevokeAsked(Attempt& attempt) const {
  for (size_t i = 0; i < asked_keys_.size(); ++i) {
    const std::string& name = attempt.asked()[i].name;
    if (!roster_.Allows(name, asked_keys_[i])) {
      attempt.Revoke(int(i), "it is no longer on the list, or not with its key");
    }
  }
}

absl::StatusOr<std::shared_ptr<Attempt>> Rounds::RunAttempt(const std::vector<int>& chosen) {
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Attempt> attempt, BeginAttempt(chosen));
  options_.Observer().OnAttempt(state_.rounds_done + 1, attempt->asked());
  const absl::Status status = AwaitEnd(*attempt);
  attempt->Stop();
  sum_thread_.Await();  // it reads the parameters
  DTNN_RETURN_IF_ERROR(status);
  return attempt;
}

absl::Status Rounds::AwaitEnd(Attempt& attempt) {
  std::set<std::string> told;
  std::optional<FederationObserver::Step> step;
  Clock::time_point step_began = Clock::now();
  int changes = roster_.allowed_changes();
  while (true) {
    attempt.Advance(Clock::now());
    if (attempt.step() != step) {
      const Clock::time_point now = Clock::now();
      const std::chrono::duration<double> took = now - std::exchange(step_began, now);
      if (step && attempt.failure().ok()) options_.Observer().OnStepEnd(*step, took.count());
      step = attempt.step();
    }
    // No sum has the update of one that is gone; one that is protected is not even read: from the
    // next sum, without it, its update would follow.
    if (attempt.complete()) DTNN_RETURN_IF_ERROR(roster_.SettleAllowed());
    if (changes != roster_.allowed_changes()) {
      changes = roster_.allowed_changes();
      RevokeAsked(attempt);
      continue;
    }
    if (attempt.complete()) {
      attempt.Confirm();
      continue;
    }
    for (const Asked& client : attempt.asked()) {
      // Whether an update that is being added counts is not known yet.
      if (client.state == Asked::State::kWaiting && !attempt.over()) continue;
      if (client.why.empty() || !told.insert(client.name).second) continue;
      const bool used = client.state == Asked::State::kAccepted;
      options_.Warn(StrCat("round ", state_.rounds_done + 1, ": client ", client.name,
                           used ? ": its update is used, although " : " is left out: ",
                           WithNames(client.why, attempt.asked())));
    }
    if (attempt.over()) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(roster_.Turn(attempt.next()));
  }
}

void Rounds::TellVerdicts(const Attempt& attempt, bool good) {
  for (auto& [id, member] : roster_.members()) {
    if (member.attempt.get() != &attempt) continue;
    const Asked& asked = attempt.asked()[size_t(member.position)];
    const bool accepted = good && asked.state == Asked::State::kAccepted;
    const federation::Verdict verdict = {.accepted = accepted,
                                         .text = accepted            ? ""
                                                 : asked.why.empty() ? "the round is tried again"
                                                                     : asked.why};
    member.channel.Send(FrameKind::kVerdict, state_.attempts, 0, ToBytes(verdict));
    // The others answer that they know it, or with what they have sent already.
    if (attempt.answered(member.position)) member.Answered();
  }
}

}  // namespace dtnn::federation
