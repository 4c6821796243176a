#include "comm/federation/aggregator/aggregator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/choice.h"
#include "comm/federation/aggregator/roster.h"
#include "comm/federation/agreed.h"
#include "comm/federation/factors.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/sums/plain_codec.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Between two attempts at a round: longer and longer, while clients are lost in each.
constexpr milliseconds kPauseFirst(100), kPauseLast(1000);
// Between two looks whether enough clients are there.
constexpr milliseconds kLook(200);
// At one round: with clients that are always too slow it would never end.
constexpr uint64_t kMostAttempts = 50;
// For clients that are about to answer the attempt before, where else one would be asked that was
// lost again and again: it must not win by being faster.
constexpr milliseconds kReluctance(2000);
// How long clients get to fetch the final parameters.
constexpr std::chrono::seconds kLastMessages(10);

class Aggregator {
 public:
  Aggregator(const AggregatorOptions& options, const JobSecret& secret, Protector protector,
             FederationState& state)
      : options_(options),
        secret_(secret),
        protector_(std::move(protector)),
        state_(state),
        roster_(options_, protector_, state_, nonce_) {}

  absl::Status Open();
  absl::Status Run();

 private:
  // Those that can be asked in this round.
  std::vector<Candidate> Candidates();
  // Whether some have not answered an attempt that is over, and could be asked when they have.
  bool SomeAreBusy();
  absl::Status RunRound();
  // Until enough clients are there.
  absl::StatusOr<std::vector<int>> AwaitClients();
  absl::StatusOr<std::shared_ptr<Attempt>> BeginAttempt(const std::vector<int>& chosen);
  absl::StatusOr<std::shared_ptr<Attempt>> RunAttempt(const std::vector<int>& chosen);
  void CountLosses(const Attempt& attempt);
  // What an attempt that asks so many can tell of one of them, before it does.
  absl::Status Charge(int asked);
  void Account(const Attempt& attempt);
  void TellVerdicts(const Attempt& attempt, bool good);
  absl::Status TakeSum(const Attempt& attempt);
  RoundRecord RecordOf(const Attempt& attempt, Clock::time_point begin) const;
  absl::Status SendTheEnd();
  absl::StatusOr<std::vector<SharedBytes>> ParameterBodies() const;
  void SendParameters(Member& member, const RoundStart& start,
                      const std::vector<SharedBytes>& bodies);

  const AggregatorOptions& options_;
  const JobSecret& secret_;
  const Protector protector_;
  FederationState& state_;
  RunNonce nonce_{};
  std::optional<Secret> choice_seed_;
  Roster roster_;
  std::set<std::string> excluded_;     // names, from this round
  std::map<std::string, int> losses_;  // by name, in this round
  KeyName round_key_{};
  double sampling_ = 1;    // of those who were there, the share that was asked
  PrivacyLedger settled_;  // of the attempts that are over
  uint64_t attempts_before_ = 0;
};

absl::Status Aggregator::Open() {
  DTNN_RETURN_IF_ERROR(FillRandom(nonce_));
  choice_seed_ = options_.choice_seed;
  if (!choice_seed_) {
    DTNN_ASSIGN_OR_RETURN(choice_seed_, RandomSecret());
  }
  return roster_.Open(secret_);
}

std::vector<Candidate> Aggregator::Candidates() {
  std::vector<Candidate> candidates;
  for (const int id : roster_.Idle()) {
    const std::string& name = roster_.members().at(id).name;
    if (excluded_.contains(name)) continue;
    const auto lost = losses_.find(name);
    candidates.push_back(
        {.id = id, .name = name, .losses = lost == losses_.end() ? 0 : lost->second});
  }
  return candidates;
}

bool Aggregator::SomeAreBusy() {
  return std::ranges::any_of(roster_.members(), [this](const auto& id_and_member) {
    const Member& member = id_and_member.second;
    return member.attempt != nullptr && !excluded_.contains(member.name);
  });
}

absl::StatusOr<std::vector<SharedBytes>> Aggregator::ParameterBodies() const {
  std::vector<SharedBytes> bodies;
  if (state_.from.encrypted) {
    for (const Bytes& chunk : state_.encrypted)
      bodies.push_back(std::make_shared<const Bytes>(chunk));
    return bodies;
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<codec::ClientCodec> codec,
                        codec::PlainClient(codec::WireType::kFloat32, kParameterChunk));
  for (size_t at = 0; at < state_.parameters.size(); at += kParameterChunk) {
    const size_t count = std::min(kParameterChunk, state_.parameters.size() - at);
    DTNN_ASSIGN_OR_RETURN(Bytes body,
                          codec->Encode({.chunk = uint32_t(at / kParameterChunk)},
                                        std::span(state_.parameters).subspan(at, count)));
    bodies.push_back(std::make_shared<const Bytes>(std::move(body)));
  }
  return bodies;
}

void Aggregator::SendParameters(Member& member, const RoundStart& start,
                                const std::vector<SharedBytes>& bodies) {
  const uint64_t attempt = start.over ? 0 : state_.attempts;
  member.channel.Send(FrameKind::kRound, attempt, 0, ToBytes(start));
  for (size_t i = 0; i < bodies.size(); ++i) {
    member.channel.Send(FrameKind::kParameters, attempt, uint32_t(i), bodies[i]);
  }
}

absl::StatusOr<std::shared_ptr<Attempt>> Aggregator::BeginAttempt(const std::vector<int>& chosen) {
  ++state_.attempts;
  DTNN_RETURN_IF_ERROR(Charge(int(chosen.size())));
  std::vector<int64_t> samples;
  for (const int id : chosen) samples.push_back(roster_.members().at(id).samples);
  const RankWeighting weighting = WeightingOf(options_.strategy.strategy);
  const std::vector<double> factors = ClientFactors(weighting, samples);
  std::vector<Asked> asked;
  for (size_t i = 0; i < chosen.size(); ++i) {
    asked.push_back({.name = roster_.members().at(chosen[i]).name,
                     .samples = samples[i],
                     .factor = factors[i]});
  }
  DTNN_ASSIGN_OR_RETURN(const Secret job, secret_.Derive(kTagPurpose, nonce_));
  const auto send = [this, chosen](int position, FrameKind kind, uint32_t index, SharedBytes body) {
    const auto member = roster_.members().find(chosen[size_t(position)]);
    if (member == roster_.members().end()) return;
    member->second.channel.Send(kind, state_.attempts, index, std::move(body));
  };
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Attempt> attempt,
                        Attempt::Create({.number = state_.attempts,
                                         .nonce = nonce_,
                                         .quorum = options_.min_clients,
                                         .deadline = options_.deadline,
                                         .max_update_norm = options_.max_update_norm},
                                        protector_, job, size_t(options_.model.values),
                                        state_.parameters, asked, send));
  DTNN_ASSIGN_OR_RETURN(const std::vector<SharedBytes> bodies, ParameterBodies());
  for (size_t i = 0; i < chosen.size(); ++i) {
    Member& member = roster_.members().at(chosen[i]);
    member.attempt = attempt;
    member.position = int(i);
    const bool proximal = options_.strategy.strategy == Strategy::kFedprox;
    SendParameters(member,
                   {.round = state_.rounds_done + 1,
                    .rounds = options_.rounds,
                    .position = uint32_t(i),
                    .samples = samples,
                    .weighting = weighting,
                    .quorum = uint32_t(options_.min_clients),
                    .proximal = proximal ? options_.strategy.proximal : 0,
                    .deadline = std::chrono::duration<double>(options_.deadline).count(),
                    .parameters = state_.from},
                   bodies);
  }
  return attempt;
}

absl::StatusOr<std::shared_ptr<Attempt>> Aggregator::RunAttempt(const std::vector<int>& chosen) {
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Attempt> attempt, BeginAttempt(chosen));
  std::set<std::string> told;
  while (true) {
    attempt->Advance(Clock::now());
    for (const Asked& client : attempt->asked()) {
      if (client.why.empty() || !told.insert(client.name).second) continue;
      const bool used = client.state == Asked::State::kAccepted;
      options_.Warn(
          StrCat("round ", state_.rounds_done + 1, ": client ", client.name,
                 used ? " does wrong, but its update is used: " : " is left out: ", client.why));
    }
    if (attempt->over()) return attempt;
    DTNN_RETURN_IF_ERROR(roster_.Turn(attempt->next()));
  }
}

// Where no more were asked than there must be, a client that declines may do so because of the
// others: all of them count as lost, so that one that spoils attempts is lost most often.
void Aggregator::CountLosses(const Attempt& attempt) {
  const bool together =
      !attempt.failure().ok() && int(attempt.asked().size()) <= options_.min_clients;
  for (const Asked& asked : attempt.asked()) {
    if (asked.at_fault) excluded_.insert(asked.name);
    const bool lost = together || asked.state == Asked::State::kLeftOut || asked.disputed;
    if (lost && !asked.at_fault) ++losses_[asked.name];
  }
}

void Aggregator::TellVerdicts(const Attempt& attempt, bool good) {
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

// At most: a sum of the fewest updates of which there is one, of which each is read where that can
// be.
absl::Status Aggregator::Charge(int asked) {
  const PrivacyOptions& privacy = protector_.privacy();
  if (!privacy.on()) return absl::OkStatus();
  settled_ = state_.privacy;
  const bool reads_updates = protector_.protection() == Protection::kNone;
  const int together = protector_.together(options_.min_clients, asked);
  const int fewest = std::max(together, options_.min_clients);
  if (reads_updates) state_.privacy.AddUpdates(privacy);
  if (protector_.readable() && !reads_updates) state_.privacy.AddRead(privacy, fewest, together);
  state_.privacy.AddModel(privacy, fewest, together, sampling_);
  return options_.charged ? options_.charged(state_) : absl::OkStatus();
}

// What the attempt has told of a client, whether it came to an end or not.
void Aggregator::Account(const Attempt& attempt) {
  const PrivacyOptions& privacy = protector_.privacy();
  if (!privacy.on()) return;
  state_.privacy = settled_;
  if (protector_.protection() == Protection::kNone) state_.privacy.AddUpdates(privacy);
  const int asked = int(attempt.asked().size());
  const int together = protector_.together(options_.min_clients, asked);
  if (attempt.opened() > 0) state_.privacy.AddRead(privacy, attempt.opened(), together);
  if (!attempt.failure().ok()) return;
  const int accepted =
      int(std::ranges::count(attempt.asked(), Asked::State::kAccepted, &Asked::state));
  state_.privacy.AddModel(privacy, accepted, together, sampling_);
}

absl::Status Aggregator::TakeSum(const Attempt& attempt) {
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

RoundRecord Aggregator::RecordOf(const Attempt& attempt, Clock::time_point begin) const {
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

absl::StatusOr<std::vector<int>> Aggregator::AwaitClients() {
  Wait wait(
      {.timeout = options_.timeout, .warn_after = options_.timeout / 5, .warn = options_.warn});
  const Clock::time_point begin = Clock::now();
  std::vector<Candidate> there;
  Choice choice;
  const auto text = [&] {
    return Wait::Text{.who = StrCat("round ", state_.rounds_done + 1),
                      .what = StrCat(options_.min_clients, " clients that can be asked; ",
                                     there.size(), there.size() == 1 ? " is" : " are", " there")};
  };
  const auto choose = [&](Clock::time_point until) -> absl::StatusOr<bool> {
    there = Candidates();
    DTNN_ASSIGN_OR_RETURN(choice, ChooseClients(there, {.min_clients = size_t(options_.min_clients),
                                                        .fraction = options_.client_fraction,
                                                        .seed = *choice_seed_,
                                                        .attempt = state_.attempts}));
    const bool wait_for_others =
        choice.reluctant && SomeAreBusy() && Clock::now() < begin + kReluctance;
    if (!choice.ids.empty() && !wait_for_others) return true;
    DTNN_RETURN_IF_ERROR(roster_.Turn(std::min(until, Clock::now() + kLook)));
    return false;
  };
  const absl::Status waited = wait.For(text, choose);
  if (absl::IsDeadlineExceeded(waited)) return Unavailable(waited.message());
  DTNN_RETURN_IF_ERROR(waited);
  sampling_ = choice.sampling;
  return choice.ids;
}

absl::Status Aggregator::RunRound() {
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

absl::Status Aggregator::SendTheEnd() {
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

absl::Status Aggregator::Run() {
  while (state_.rounds_done < options_.rounds) DTNN_RETURN_IF_ERROR(RunRound());
  return SendTheEnd();
}

}  // namespace

absl::Status RunAggregator(const AggregatorOptions& options, const JobSecret& secret,
                           FederationState& state) {
  DTNN_RETURN_IF_ERROR(Validate(options, state));
  DTNN_ASSIGN_OR_RETURN(Protector protector,
                        Protector::Create(options.protection, size_t(options.model.values)));
  if (state.from.encrypted &&
      state.encrypted.size() != protector.chunks(size_t(options.model.values))) {
    return InvalidArgument("the state has ", state.encrypted.size(), " encrypted chunks, expected ",
                           protector.chunks(size_t(options.model.values)));
  }
  Aggregator aggregator(options, secret, std::move(protector), state);
  DTNN_RETURN_IF_ERROR(aggregator.Open());
  return aggregator.Run();
}

}  // namespace dtnn::federation
