// The clients that a round can ask, and those that it has lost.

#include <algorithm>

#include "comm/federation/aggregator/rounds.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// Between two looks whether enough clients are there.
constexpr milliseconds kLook(200);
// For clients that are about to answer the attempt before, where else one would be asked that was
// lost again and again: it must not win by being faster.
constexpr milliseconds kReluctance(2000);

}  // namespace

std::vector<Candidate> Rounds::Candidates() {
  std::vector<Candidate> candidates;
  for (const int id : roster_.Idle()) {
    const std::string& name = roster_.members().at(id).name;
    if (lost_.Excludes(name)) continue;
    candidates.push_back({.id = id, .name = name, .losses = lost_.LossesOf(name)});
  }
  return candidates;
}

bool Rounds::SomeAreBusy() {
  return std::ranges::any_of(roster_.members(), [this](const auto& id_and_member) {
    const Member& member = id_and_member.second;
    return member.attempt != nullptr && !lost_.Excludes(member.name);
  });
}

absl::StatusOr<std::vector<int>> Rounds::AwaitClients() {
  Wait wait({.timeout = AtMost(options_.timeout),
             .warn_after = options_.timeout / 5,
             .warn = options_.warn});
  const Clock::time_point begin = Clock::now();
  const auto most = size_t(options_.MostClients());
  std::vector<Candidate> there;
  Choice choice;
  const auto text = [&] {
    return Wait::Text{.who = StrCat("round ", state_.rounds_done + 1),
                      .what = StrCat(options_.min_clients, " clients that can be asked; ",
                                     there.size(), there.size() == 1 ? " is" : " are", " there",
                                     TextOfOthers(options_.select, roster_.CountUnfit()))};
  };
  // Thousands that come at the same time would each have to wait for a look at all others: looks
  // take a twentieth of the time.
  Clock::time_point look_at = begin;
  const auto choose = [&](Clock::time_point until) -> absl::StatusOr<bool> {
    const Clock::time_point now = Clock::now();
    if (now < look_at) {
      DTNN_RETURN_IF_ERROR(roster_.Turn(std::min(until, look_at)));
      return false;
    }
    there = Candidates();
    DTNN_ASSIGN_OR_RETURN(choice, ChooseClients(there, {.min_clients = size_t(options_.min_clients),
                                                        .fraction = options_.client_fraction,
                                                        .most = most,
                                                        .seed = *choice_seed_,
                                                        .attempt = state_.attempts}));
    look_at = Clock::now() + 20 * (Clock::now() - now);
    const bool wait_for_others =
        choice.reluctant && SomeAreBusy() && Clock::now() < begin + kReluctance;
    if (!choice.ids.empty() && !wait_for_others) {
      const int changes = roster_.allowed_changes();
      roster_.FollowAllowed();
      if (roster_.allowed_changes() != changes) return false;  // chooses again
      if (!roster_.allowed_settles()) return true;
    }
    DTNN_RETURN_IF_ERROR(roster_.Turn(std::min(until, Clock::now() + kLook)));
    return false;
  };
  const absl::Status waited = wait.For(text, choose);
  if (absl::IsDeadlineExceeded(waited)) return Unavailable(waited.message());
  DTNN_RETURN_IF_ERROR(waited);
  sampling_ = choice.sampling;
  return choice.ids;
}

}  // namespace dtnn::federation
