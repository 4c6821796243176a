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
// The part of the parent's deadline for the round of the clients; the rest is for the update's way
// up. And what an attempt needs.
constexpr double kShareOfDeadline = 0.8, kLeastShare = 0.1;

// An attempt takes so many times its deadline at most: the updates, and a quarter for each note.
int DeadlinesOfAttempt(Protection protection) {
  switch (protection) {
    case Protection::kNone:
    case Protection::kSharedKey:
      break;
    case Protection::kMasked:
      return 2;
    case Protection::kThreshold:
      return 3;  // decryptions, too
  }
  return 1;
}

}  // namespace

milliseconds Rounds::AtMost(milliseconds time) const {
  if (!terms_.end) return time;
  const auto left = std::chrono::duration_cast<milliseconds>(*terms_.end - Clock::now());
  return std::clamp(left, milliseconds(1), time);
}

milliseconds Rounds::DeadlineOfAttempt() const {
  if (!terms_.end) return options_.deadline;
  const milliseconds left = AtMost(milliseconds::max());
  return std::clamp(left / DeadlinesOfAttempt(protector_.protection()), milliseconds(1),
                    options_.deadline);
}

bool Rounds::TooLate() const { return terms_.end && Clock::now() + terms_.least >= *terms_.end; }

absl::Status Rounds::RunForParent() {
  // Its hello says how many there are.
  DTNN_RETURN_IF_ERROR(AwaitClients().status());
  ParentOptions parent_options = *options_.parent;
  parent_options.client.model = options_.model;
  parent_options.client.class_names = options_.classes.names;
  parent_options.client.names_of_clients = roster_.NamesOfClasses();
  parent_options.client.timeout = options_.timeout;
  parent_options.client.interrupted = options_.interrupted;
  ParentLink parent(parent_options, roster_.Size());
  const absl::Status followed = FollowParent(parent);
  parent.LogLines(options_.say, options_.warn);
  return followed;
}

absl::Status Rounds::FollowParent(ParentLink& parent) {
  while (true) {
    // Without clients there is nothing to say; the parent learns it when it asks.
    if (const GroupSize size = roster_.Size(); size.clients > 0) parent.SetSize(size);
    parent.LogLines(options_.say, options_.warn);
    DTNN_ASSIGN_OR_RETURN(const std::optional<RoundTask> task, parent.Poll());
    if (!task) {
      DTNN_RETURN_IF_ERROR(roster_.Turn(Clock::now() + kLook));
      continue;
    }
    state_.parameters = task->parameters;
    state_.from = {};
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
  terms_ = {.weighting = task.weighting,
            .proximal = task.proximal,
            .rounds = task.rounds,
            .end = begin + std::chrono::duration_cast<Clock::duration>(time),
            .least = std::chrono::duration_cast<milliseconds>(kLeastShare * time)};
  const absl::Status done = RunRound();
  terms_.end.reset();
  if (absl::IsUnavailable(done)) {  // too few clients, or too late
    options_.Warn(StrCat("takes no part in this round of its parent: ", done.message()));
    parent.Decline(std::string(done.message()));
    return absl::OkStatus();
  }
  DTNN_RETURN_IF_ERROR(done);
  Report report = {.seconds = std::chrono::duration<double>(Clock::now() - begin).count(),
                   .metrics = last_.metrics};
  for (const Asked& asked : last_.clients) {
    if (asked.state != Asked::State::kAccepted) continue;
    // By which its update was weighed.
    report.samples += asked.clients > 0 ? asked.report.samples : asked.samples;
    report.clients += std::max<int64_t>(1, asked.report.clients);
  }
  report.samples = std::min(report.samples, kMostSamples);
  parent.Submit(state_.parameters, std::move(report));
  return absl::OkStatus();
}

}  // namespace dtnn::federation
