#include "comm/federation/simulation/simulation.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/attempt_privacy.h"
#include "comm/federation/aggregator/choice/choice.h"
#include "comm/federation/aggregator/compression_conflict.h"
#include "comm/federation/aggregator/lost_clients.h"
#include "comm/federation/factors.h"
#include "comm/federation/simulation/buffered_simulation.h"
#include "comm/federation/simulation/client_seconds.h"
#include "comm/federation/simulation/simulated_attempt.h"
#include "comm/federation/simulation/simulation_seed.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using Clock = std::chrono::steady_clock;

class SimulatedRounds {
 public:
  SimulatedRounds(const SimulationOptions& options, std::span<const SimulatedClient> clients,
                  const TrainClient& train, Protector protector, SimulationSeed seed,
                  FederationState& state)
      : options_(options),
        clients_(clients),
        train_(train),
        protector_(std::move(protector)),
        seed_(std::move(seed)),
        state_(state) {}

  absl::Status Run() {
    while (state_.rounds_done < options_.rounds) DTNN_RETURN_IF_ERROR(RunRound());
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Choice> Choose() const {
    std::vector<Candidate> there;
    for (int id = 0; id < int(clients_.size()); ++id) {
      const SimulatedClient& client = clients_[size_t(id)];
      if (!CanBeAsked(options_, client) || lost_.Excludes(client.name)) continue;
      there.push_back({.id = id, .name = client.name, .losses = lost_.LossesOf(client.name)});
    }
    const size_t count = there.size();
    const auto most = size_t(options_.clients_per_round);
    DTNN_ASSIGN_OR_RETURN(
        Choice choice,
        ChooseClients(std::move(there),
                      {.min_clients = size_t(options_.min_clients),
                       .fraction = count == 0 ? 1 : std::min(1.0, double(most) / double(count)),
                       .most = most,
                       .seed = options_.choice_seed.value_or(seed_.choice()),
                       .attempt = state_.attempts}));
    if (!choice.ids.empty()) return choice;
    return Unavailable("round ", state_.rounds_done + 1, ": ", count, " clients can be asked, and ",
                       options_.min_clients, " are needed",
                       TextOfOthers(options_.select, CountUnfit()));
  }

  size_t CountUnfit() const {
    return size_t(std::ranges::count_if(clients_, [this](const SimulatedClient& client) {
      return client.samples > 0 && !CanBeAsked(options_, client);
    }));
  }

  std::vector<Asked> AskedOf(const std::vector<int>& ids) const {
    std::vector<int64_t> samples, steps;
    for (const int id : ids) {
      const SimulatedClient& client = clients_[size_t(id)];
      samples.push_back(client.samples);
      if (options_.strategy.by_steps()) steps.push_back(client.steps);
    }
    const std::vector<double> factors =
        ClientFactors(WeightingOf(options_.strategy.strategy), samples, steps);
    std::vector<Asked> asked;
    for (size_t i = 0; i < ids.size(); ++i) {
      const SimulatedClient& client = clients_[size_t(ids[i])];
      asked.push_back({.name = client.name,
                       .samples = client.samples,
                       .steps = client.steps,
                       .factor = factors[i]});
    }
    return asked;
  }

  absl::Status Charge(const AttemptClients& clients) {
    if (!protector_.privacy().on()) return absl::OkStatus();
    settled_ = state_.privacy;
    ChargeAttempt(protector_, clients, state_.privacy);
    return options_.charged ? options_.charged(state_) : absl::OkStatus();
  }

  void Account(const AttemptClients& clients, const SimulatedAttempt& attempt, bool has_sum) {
    if (!protector_.privacy().on()) return;
    state_.privacy = settled_;
    const bool opened = has_sum && protector_.hides_in_sums();
    AccountAttempt(protector_, clients,
                   {.has_sum = has_sum,
                    .accepted = attempt.accepted(),
                    .opened = opened ? attempt.accepted() : 0},
                   state_.privacy);
  }

  void Warn(const std::string& line) const {
    if (options_.warn) options_.warn(StrCat("round ", state_.rounds_done + 1, ": ", line));
  }

  absl::Status RunRound() {
    lost_.Clear();
    const uint64_t before = state_.attempts;
    while (state_.attempts - before < kMostAttempts) {
      if (options_.interrupted && options_.interrupted()) {
        return absl::CancelledError(StrCat("interrupted after round ", state_.rounds_done));
      }
      DTNN_ASSIGN_OR_RETURN(Choice choice, Choose());
      const Clock::time_point begin = Clock::now();
      ++state_.attempts;
      const AttemptClients clients = {.quorum = options_.min_clients,
                                      .asked = int(choice.ids.size()),
                                      .sampling = choice.sampling};
      DTNN_RETURN_IF_ERROR(Charge(clients));
      std::vector<Asked> asked = AskedOf(choice.ids);
      SimulatedAttempt attempt(options_, protector_, seed_, train_, state_, std::move(choice.ids),
                               std::move(asked));
      DTNN_RETURN_IF_ERROR(attempt.Run());
      const absl::StatusOr<std::vector<float>> mean = attempt.Mean();
      for (const Asked& client : attempt.asked()) {
        if (client.at_fault) Warn(StrCat("client ", client.name, " is left out: ", client.why));
      }
      lost_.Count(attempt.asked(), !mean.ok(), options_.min_clients);
      Account(clients, attempt, mean.ok());
      if (mean.ok()) return EndRound(attempt, *mean, state_.attempts - before, begin);
      Warn(StrCat(mean.status().message(), "; it is tried again"));
    }
    return Unavailable("round ", state_.rounds_done + 1, ": gave up after ", kMostAttempts,
                       " attempts");
  }

  absl::Status EndRound(const SimulatedAttempt& attempt, std::span<const float> mean,
                        uint64_t attempts, Clock::time_point begin) {
    DTNN_RETURN_IF_ERROR(TakeAverage(options_.strategy, size_t(options_.model.trainable), mean,
                                     attempt.asked(), AllSamples(), state_));
    RoundRecord record = RecordOfRound(state_, protector_.privacy(), attempt.asked());
    record.clipping = FollowClip(protector_.privacy(), attempt.clip(), attempt.below(), state_);
    record.attempts = attempts;
    record.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!attempt.metrics().empty()) record.metrics = attempt.metrics();
    DTNN_ASSIGN_OR_RETURN(record.simulated_seconds, SlowestOf(attempt));
    return options_.round_done ? options_.round_done(record, state_) : absl::OkStatus();
  }

  // The samples of all clients that could be asked.
  int64_t AllSamples() const {
    int64_t samples = 0;
    for (const SimulatedClient& client : clients_) {
      if (!CanBeAsked(options_, client)) continue;
      samples = std::min(kMostSamples, samples + client.samples);
    }
    return std::max<int64_t>(1, samples);
  }

  // The round waits for it.
  absl::StatusOr<double> SlowestOf(const SimulatedAttempt& attempt) const {
    double slowest = 0;
    for (size_t i = 0; i < attempt.asked().size(); ++i) {
      if (attempt.asked()[i].state != Asked::State::kAccepted) continue;
      DTNN_ASSIGN_OR_RETURN(const double seconds,
                            SecondsOf(options_.client_seconds, seed_, attempt.ids()[i]));
      slowest = std::max(slowest, seconds);
    }
    return slowest;
  }

  const SimulationOptions& options_;
  const std::span<const SimulatedClient> clients_;
  const TrainClient& train_;
  const Protector protector_;
  const SimulationSeed seed_;
  FederationState& state_;
  LostClients lost_;       // in this round
  PrivacyLedger settled_;  // of the attempts that are over
};

absl::Status CheckClients(const SimulationOptions& options,
                          std::span<const SimulatedClient> clients) {
  const auto can_be_asked = std::ranges::count_if(
      clients, [&](const SimulatedClient& client) { return CanBeAsked(options, client); });
  if (options.buffer.size > can_be_asked) {
    return InvalidArgument("a buffer of ", options.buffer.size, " updates, and ", can_be_asked,
                           " clients that can be asked: a client gives one update of the same "
                           "parameters, so at least as many clients are needed as updates");
  }
  std::set<std::string_view> names;
  for (const SimulatedClient& client : clients) {
    if (!names.insert(client.name).second) {
      return InvalidArgument("two clients are called ", client.name);
    }
    if (client.steps < 1 || client.steps > kMostSteps) {
      return InvalidArgument("client ", client.name, " makes ", client.steps,
                             " steps in a round: expected 1 to ", kMostSteps);
    }
  }
  return absl::OkStatus();
}

absl::Status Validate(const SimulationOptions& options, const FederationState& state) {
  DTNN_RETURN_IF_ERROR(Validate(options.strategy));
  const Protection protection = options.protection.protection;
  const bool masked = protection == Protection::kMasked;
  if (!masked && protection != Protection::kNone) {
    return absl::InvalidArgumentError(
        "simulated clients send their updates as they are, or masked; ciphertexts need clients "
        "that are processes");
  }
  if (options.min_clients < (masked ? 2 : 1) || options.min_clients > options.clients_per_round) {
    return InvalidArgument("rounds of ", options.clients_per_round, " clients, and at least ",
                           options.min_clients, ": expected ", masked ? 2 : 1, " to ",
                           options.clients_per_round);
  }
  if (options.threads < 1) {
    return InvalidArgument("training on ", options.threads, " threads: expected 1 or more");
  }
  if (const int most = MostParticipants(options.protection);
      masked && options.clients_per_round > most) {
    return InvalidArgument("masked sums of ", options.clients_per_round, " clients: expected ",
                           most, " at most");
  }
  DTNN_RETURN_IF_ERROR(CheckControls(options.strategy, options.protection,
                                     /*keeps_parameters=*/options.model.local != Hash{}));
  DTNN_RETURN_IF_ERROR(
      CheckCompression(options.compression, {.strategy = options.strategy,
                                             .protection = options.protection,
                                             .robust = options.robust.on(),
                                             .buffered = options.buffer.on(),
                                             .bounds_norms = options.max_update_norm > 0}));
  if (masked && options.max_update_norm > 0) {
    return absl::InvalidArgumentError(
        "norms of updates cannot be limited where the aggregator cannot read updates");
  }
  DTNN_RETURN_IF_ERROR(
      CheckBuffer(options.buffer, options.strategy, options.protection, options.model));
  const bool buffered = options.buffer.on();
  DTNN_RETURN_IF_ERROR(CheckRobust(options.robust, options.strategy, options.protection,
                                   buffered ? options.buffer.size : options.min_clients,
                                   buffered ? options.buffer.size : options.clients_per_round));
  if (!(options.drop_out >= 0 && options.drop_out < 1)) {
    return InvalidArgument("a drop-out of ", options.drop_out, ": expected 0 or more, below 1");
  }
  if (options.model.values < 1 || options.model.trainable > options.model.values ||
      state.parameters.size() != options.model.values) {
    return InvalidArgument("the state has ", state.parameters.size(), " parameters, the model ",
                           options.model.values);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunSimulation(const SimulationOptions& options,
                           std::span<const SimulatedClient> clients, const TrainClient& train,
                           FederationState& state) {
  DTNN_RETURN_IF_ERROR(Validate(options, state));
  DTNN_RETURN_IF_ERROR(CheckClients(options, clients));
  DTNN_ASSIGN_OR_RETURN(Protector protector,
                        Protector::Create(options.protection, size_t(options.model.values)));
  DTNN_ASSIGN_OR_RETURN(SimulationSeed seed, SimulationSeed::Of(options.seed));
  if (options.buffer.on()) {
    return BufferedSimulation(options, clients, train, std::move(seed), state).Run();
  }
  return SimulatedRounds(options, clients, train, std::move(protector), std::move(seed), state)
      .Run();
}

}  // namespace dtnn::federation
