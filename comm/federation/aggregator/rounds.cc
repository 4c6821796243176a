#include "comm/federation/aggregator/rounds.h"

#include <algorithm>
#include <cmath>

#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// Between two attempts at a round: longer and longer, while clients are lost in each.
constexpr milliseconds kPauseFirst(100), kPauseLast(1000);
// At one round: with clients that are always too slow it would never end.
constexpr uint64_t kMostAttempts = 50;
// How long clients get to fetch the final parameters.
constexpr std::chrono::seconds kLastMessages(10);

}  // namespace

absl::Status Rounds::Open() {
  DTNN_RETURN_IF_ERROR(FillRandom(nonce_));
  choice_seed_ = options_.choice_seed;
  if (!choice_seed_) {
    DTNN_ASSIGN_OR_RETURN(choice_seed_, RandomSecret());
  }
  return roster_.Open(secret_);
}

absl::Status Rounds::TakeSum(const Attempt& attempt) {
  if (protector_.readable()) {
    Follow(options_.strategy, attempt.average(), size_t(options_.model.trainable), state_.moments,
           state_.parameters);
    if (!std::ranges::all_of(state_.parameters, [](float x) { return std::isfinite(x); })) {
      return absl::DataLossError(
          StrCat("round ", state_.rounds_done + 1,
                 ": the parameters are no longer finite; lower the strategy's learning rate"));
    }
  } else {
    state_.encrypted = attempt.encrypted();
    state_.parameters.clear();
    state_.key = round_key_;
    roster_.RefuseOtherKeys();
    state_.from = {.encrypted = true,
                   .attempt = state_.attempts,
                   .nonce = nonce_,
                   .clients = uint32_t(attempt.asked().size()),
                   .divisor = attempt.divisor()};
  }
  ++state_.rounds_done;
  return absl::OkStatus();
}

RoundRecord Rounds::RecordOf(const Attempt& attempt, Clock::time_point begin) const {
  RoundRecord record = {.round = state_.rounds_done,
                        .attempts = state_.attempts - attempts_before_,
                        .seconds = std::chrono::duration<double>(Clock::now() - begin).count(),
                        .clients = attempt.asked()};
  if (protector_.privacy().on()) {
    const double delta = protector_.privacy().delta;
    record.epsilons = {.model = state_.privacy.model().Epsilon(delta),
                       .aggregator = state_.privacy.aggregator().Epsilon(delta)};
  }
  SumReports(record);
  if (!attempt.metrics().empty()) record.metrics = attempt.metrics();
  return record;
}

absl::Status Rounds::RunRound() {
  excluded_.clear();
  losses_.clear();
  attempts_before_ = state_.attempts;
  milliseconds pause = kPauseFirst;
  while (state_.attempts - attempts_before_ < kMostAttempts) {
    DTNN_ASSIGN_OR_RETURN(const std::vector<int> chosen, AwaitClients());
    round_key_ = roster_.members().at(chosen[0]).key;
    const auto [sent, received] = roster_.bytes();
    const Clock::time_point begin = Clock::now();
    DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Attempt> attempt, RunAttempt(chosen));
    CountLosses(*attempt);
    Account(*attempt);
    TellVerdicts(*attempt, attempt->failure().ok());
    if (attempt->failure().ok()) {
      const auto [sent_now, received_now] = roster_.bytes();
      DTNN_RETURN_IF_ERROR(TakeSum(*attempt));
      RoundRecord record = RecordOf(*attempt, begin);
      record.bytes_sent = sent_now - sent;
      record.bytes_received = received_now - received;
      attempt->Forget();
      return options_.round_done ? options_.round_done(record, state_) : absl::OkStatus();
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

absl::Status Rounds::SendTheEnd() {
  DTNN_ASSIGN_OR_RETURN(const std::vector<SharedBytes> bodies, ParameterBodies());
  std::set<int> told;
  bool busy = false;
  for (const auto& [id, member] : roster_.members()) busy |= member.attempt != nullptr;
  const Clock::time_point end =
      Clock::now() + kLastMessages + (busy ? options_.deadline : milliseconds(0));
  do {  // also those who come now
    for (auto& [id, member] : roster_.members()) {
      if (member.name.empty() || !told.insert(id).second) continue;
      SendParameters(member,
                     {.over = true,
                      .round = state_.rounds_done,
                      .rounds = options_.rounds,
                      .parameters = state_.from},
                     bodies);
    }
    // A connection that is closed with bytes unread may take what was sent with it: clients go
    // first.
    DTNN_RETURN_IF_ERROR(roster_.Turn(end));
  } while (!roster_.members().empty() && Clock::now() < end);
  return absl::OkStatus();
}

absl::Status Rounds::Run() {
  while (state_.rounds_done < options_.rounds) DTNN_RETURN_IF_ERROR(RunRound());
  return SendTheEnd();
}

}  // namespace dtnn::federation
