#include "comm/federation/aggregator/rounds.h"

#include <algorithm>

#include "comm/federation/aggregator/round_messages.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// Between two attempts at a round: longer and longer, while clients are lost in each.
constexpr milliseconds kPauseFirst(100), kPauseLast(1000);

}  // namespace

absl::Status Rounds::Open() {
  DTNN_RETURN_IF_ERROR(FillRandom(nonce_));
  choice_seed_ = options_.choice_seed;
  if (!choice_seed_) {
    DTNN_ASSIGN_OR_RETURN(choice_seed_, RandomSecret());
  }
  const bool proximal = options_.strategy.strategy == Strategy::kFedprox;
  terms_ = {.weighting = WeightingOf(options_.strategy.strategy),
            .proximal = proximal ? options_.strategy.proximal : 0,
            .rounds = options_.rounds,
            .control = options_.strategy.controls()};
  return roster_.Open(secret_);
}

absl::Status Rounds::TakeSum(const Attempt& attempt) {
  if (protector_.readable()) {
    DTNN_RETURN_IF_ERROR(TakeAverage(options_.strategy, size_t(options_.model.trainable),
                                     attempt.average(), attempt.asked(), all_samples_, state_));
    state_.from = {.attempt = state_.attempts, .nonce = nonce_};
    return absl::OkStatus();
  }
  state_.encrypted = attempt.encrypted();
  state_.parameters.clear();
  state_.key = round_key_;
  roster_.RefuseOtherKeys();
  state_.from = {.encrypted = true,
                 .attempt = state_.attempts,
                 .nonce = nonce_,
                 .clients = uint32_t(attempt.asked().size()),
                 .divisor = attempt.divisor()};
  ++state_.rounds_done;
  return absl::OkStatus();
}

RoundRecord Rounds::RecordOf(const Attempt& attempt, Clock::time_point begin) const {
  RoundRecord record = RecordOfRound(state_, protector_.privacy(), attempt.asked());
  record.rounds = terms_.rounds;
  record.attempts = state_.attempts - attempts_before_;
  record.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!attempt.metrics().empty()) record.metrics = attempt.metrics();
  return record;
}

// What an attempt that asks so many can tell of one of them, before it does.
absl::Status Rounds::Charge(int asked) {
  if (!protector_.privacy().on()) return absl::OkStatus();
  settled_ = state_.privacy;
  ChargeAttempt(protector_, ClientsOf(asked), state_.privacy);
  return options_.charged ? options_.charged(state_) : absl::OkStatus();
}

void Rounds::Account(const Attempt& attempt) {
  if (!protector_.privacy().on()) return;
  state_.privacy = settled_;
  const auto accepted = std::ranges::count(attempt.asked(), Asked::State::kAccepted, &Asked::state);
  AccountAttempt(
      protector_, ClientsOf(int(attempt.asked().size())),
      {.has_sum = attempt.failure().ok(), .accepted = int(accepted), .opened = attempt.opened()},
      state_.privacy);
}

absl::Status Rounds::RunRound() {
  lost_.Clear();
  attempts_before_ = state_.attempts;
  milliseconds pause = kPauseFirst;
  while (state_.attempts - attempts_before_ < kMostAttempts) {
    DTNN_ASSIGN_OR_RETURN(const std::vector<int> chosen, AwaitClients());
    if (TooLate()) {
      return Unavailable("round ", state_.rounds_done + 1, ": too little is left of the time that ",
                         "the parent waits");
    }
    round_key_ = roster_.members().at(chosen[0]).key;
    const auto [sent, received] = roster_.bytes();
    const Clock::time_point begin = Clock::now();
    DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Attempt> attempt, RunAttempt(chosen));
    lost_.Count(attempt->asked(), !attempt->failure().ok(), options_.min_clients);
    Account(*attempt);
    TellVerdicts(*attempt, attempt->failure().ok());
    options_.Observer().OnAttemptEnd(WithNames(attempt->asked()), attempt->failure().ok());
    if (attempt->failure().ok()) {
      const auto [sent_now, received_now] = roster_.bytes();
      DTNN_RETURN_IF_ERROR(TakeSum(*attempt));
      RoundRecord record = RecordOf(*attempt, begin);
      record.clipping = FollowClip(protector_.privacy(), clip_, attempt->below(), state_);
      record.bytes_sent = sent_now - sent;
      record.bytes_received = received_now - received;
      attempt->Forget();
      last_ = std::move(record);
      return options_.round_done ? options_.round_done(last_, state_) : absl::OkStatus();
    }
    options_.Warn(StrCat("round ", state_.rounds_done + 1, ": ", attempt->failure().message(),
                         "; it is tried again"));
    const Clock::time_point again = Clock::now() + pause;
    pause = std::min(2 * pause, kPauseLast);
    while (Clock::now() < again) DTNN_RETURN_IF_ERROR(roster_.Turn(again));
  }
  return Unavailable("round ", state_.rounds_done + 1, ": gave up after ", kMostAttempts,
                     " attempts");
}

absl::Status Rounds::Run() {
  if (options_.parent) return RunForParent();
  while (state_.rounds_done < options_.rounds) DTNN_RETURN_IF_ERROR(RunRound());
  return SendTheEnd(options_, options_.rounds, state_, roster_);
}

}  // namespace dtnn::federation
