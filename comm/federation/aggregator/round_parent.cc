// The rounds of an aggregator that is a client of another: the parent's, as far as it is asked.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "comm/federation/aggregator/round_messages.h"
#include "comm/federation/aggregator/rounds.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// Between two looks whether the parent has asked.
constexpr milliseconds kLook(20);
// Of the parent's deadline, for the round of the clients; the rest is for the update's way up.
constexpr double kShareOfDeadline = 0.8;

}  // namespace

milliseconds Rounds::AtMost(milliseconds time) const {
  if (!terms_.end) return time;
  const auto left = std::chrono::duration_cast<milliseconds>(*terms_.end - Clock::now());
  return std::clamp(left, milliseconds(1), time);
}

absl::Status Rounds::RunForParent() {
  // Its hello says how many there are.
  DTNN_RETURN_IF_ERROR(AwaitClients().status());
  ParentOptions parent_options = *options_.parent;
  parent_options.client.model = options_.model;
  parent_options.client.class_names = options_.classes.names;
  parent_options.client.timeout = options_.timeout;
  parent_options.client.interrupted = options_.interrupted;
  ParentLink parent(parent_options, roster_.Size());
  const absl::Status followed = FollowParent(parent);
  parent.Tell(options_.say, options_.warn);
  return followed;
}

absl::Status Rounds::FollowParent(ParentLink& parent) {
  while (true) {
    // Without clients there is nothing to say; the parent learns it when it asks.
    if (const GroupSize size = roster_.Size(); size.clients > 0) parent.SetSize(size);
    parent.Tell(options_.say, options_.warn);
    DTNN_ASSIGN_OR_RETURN(const std::optional<RoundTask> task, parent.Poll());
    if (!task) {
      DTNN_RETURN_IF_ERROR(roster_.Turn(Clock::now() + kLook));
      continue;
    }
    state_.parameters = task->parameters;
    if (task->over) {
      state_.rounds_done = task->round;
      return SendTheEnd(options_, task->rounds, state_, roster_);
    }
    DTNN_RETURN_IF_ERROR(Answer(*task, parent));
  }
}

absl::Status Rounds::Answer(const RoundTask& task, ParentLink& parent) {
  const std::chrono::duration<double> time(kShareOfDeadline * std::min(task.deadline, 1e9));
  const Clock::time_point begin = Clock::now();
  state_.rounds_done = task.round - 1;
  state_.from = {};
  terms_ = {.weighting = task.weighting,
            .proximal = task.proximal,
            .rounds = task.rounds,
            .end = begin + std::chrono::duration_cast<Clock::duration>(time)};
  const absl::Status done = RunRound();
  terms_.end.reset();
  if (absl::IsUnavailable(done)) {  // too few clients, or too late
    options_.Warn(StrCat("takes no part in this round of its parent: ", done.message()));
    parent.Decline(std::string(done.message()));
    return absl::OkStatus();
  }
  DTNN_RETURN_IF_ERROR(done);
  Report report = {.samples = std::min(last_.samples, kMostSamples),
                   .seconds = std::chrono::duration<double>(Clock::now() - begin).count(),
                   .metrics = last_.metrics};
  for (const Asked& asked : last_.clients) {
    if (asked.state != Asked::State::kAccepted) continue;
    report.clients += std::max<int64_t>(1, asked.report.clients);
  }
  parent.Submit(state_.parameters, std::move(report));
  return absl::OkStatus();
}

}  // namespace dtnn::federation
