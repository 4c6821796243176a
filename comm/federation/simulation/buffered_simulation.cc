#include "comm/federation/simulation/buffered_simulation.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "comm/federation/aggregator/choice/choice.h"
#include "comm/federation/agreed.h"
#include "comm/federation/client/update_numbers.h"
#include "comm/federation/compression.h"
#include "comm/federation/simulation/client_seconds.h"
#include "comm/federation/simulation/lie.h"
#include "tensor/errors.h"
#include "tensor/philox.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {

using State = Asked::State;

BufferedSimulation::BufferedSimulation(const SimulationOptions& options,
                                       std::span<const SimulatedClient> clients,
                                       const TrainClient& train, SimulationSeed seed,
                                       FederationState& state)
    : options_(options),
      clients_(clients),
      train_(train),
      seed_(std::move(seed)),
      state_(state),
      buffer_(options.buffer, options.strategy, options.robust, size_t(options.model.values),
              size_t(options.model.trainable)) {}

absl::Status BufferedSimulation::AskClients() {
  if (running_ >= options_.clients_per_round) return absl::OkStatus();
  std::vector<Candidate> candidates;
  for (int id = 0; id < int(clients_.size()); ++id) {
    const SimulatedClient& client = clients_[size_t(id)];
    const int losses = lost_.LossesOf(client.name);
    if (!CanBeAsked(options_, client) || busy_.contains(id) || trained_.contains(client.name) ||
        lost_.Excludes(client.name) || losses >= int(kMostAttempts)) {
      continue;
    }
    candidates.push_back({.id = id, .name = client.name, .losses = losses});
  }
  if (candidates.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(
      const Choice choice,
      ChooseClients(std::move(candidates), {.most = size_t(options_.clients_per_round - running_),
                                            .seed = options_.choice_seed.value_or(seed_.choice()),
                                            .attempt = state_.attempts}));
  for (const int id : choice.ids) DTNN_RETURN_IF_ERROR(AskOne(id));
  return absl::OkStatus();
}

absl::Status BufferedSimulation::AskOne(int id) {
  if (task_ == nullptr) {
    const bool proximal = options_.strategy.strategy == Strategy::kFedprox;
    task_ = std::make_shared<const RoundTask>(
        RoundTask{.round = state_.rounds_done + 1,
                  .rounds = options_.rounds,
                  .proximal = proximal ? options_.strategy.proximal : 0,
                  .by_steps = options_.strategy.by_steps(),
                  .parameters = state_.parameters,
                  .compression = options_.compression});
  }
  const SimulatedClient& client = clients_[size_t(id)];
  const uint64_t number = ++state_.attempts;
  DTNN_ASSIGN_OR_RETURN(const double seconds, SecondsOf(options_.client_seconds, seed_, id));
  Turn turn = {.client = id,
               .version = state_.rounds_done,
               .task = task_,
               .asked = {.name = client.name, .samples = client.samples, .steps = client.steps}};
  if (options_.drop_out > 0) {
    DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, seed_.Stream(SimulationSeed::kDropOut, number));
    uint32_t bits = 0;
    random.FillWords(std::span(&bits, 1));
    if (bits * 0x1p-32 < options_.drop_out) {
      turn.task.reset();
      turn.missing = "it has dropped out";
    }
  }
  busy_.insert(id);
  ++running_;
  turns_.emplace(std::pair(clock_ + seconds, number), std::move(turn));
  return absl::OkStatus();
}

void BufferedSimulation::End(const Asked& asked) {
  lost_.Count({&asked, 1}, /*failed=*/false, /*min_clients=*/1);
  ended_.push_back(asked);
}

// A client whose update would be too stale is busy until it has made it; its turn is another one's.
void BufferedSimulation::DropStale() {
  for (auto& [when, turn] : turns_) {
    const int64_t staleness = state_.rounds_done - turn.version;
    if (turn.asked.state == State::kLeftOut || staleness <= options_.buffer.max_staleness) continue;
    turn.task.reset();
    turn.update = {};
    turn.missing.clear();  // nothing that it may have made already counts
    turn.error = absl::OkStatus();
    turn.asked.report = {};
    turn.asked.at_fault = false;
    turn.asked.state = State::kLeftOut;
    turn.asked.why = "its update is too stale";
    --running_;
    ++too_stale_;
    End(turn.asked);
  }
}

void BufferedSimulation::TrainAhead() {
  const auto waits = std::ranges::count_if(
      turns_, [](const auto& when_and_turn) { return !when_and_turn.second.update.empty(); });
  const int64_t room = std::max<int64_t>(1, 2 * int64_t{options_.threads} - waits);
  std::vector<Turn*> first;
  for (auto& [when, turn] : turns_) {
    if (int64_t(first.size()) == std::min<int64_t>(options_.threads, room)) break;
    if (turn.task != nullptr) first.push_back(&turn);
  }
  std::atomic<size_t> next = 0;
  ParallelThreads(options_.threads, [&](int thread) {
    for (size_t i = next++; i < first.size(); i = next++) Train(thread, *first[i]);
  });
}

void BufferedSimulation::Train(int thread, Turn& turn) {
  const std::shared_ptr<const RoundTask> task = std::move(turn.task);
  absl::StatusOr<SimulatedUpdate> update = train_(thread, turn.client, *task);
  if (!update.ok()) {
    turn.error = WithContext(update.status(), "client ", turn.asked.name);
    return;
  }
  if (!update->declined.empty()) {
    turn.missing = StrCat("it has no update: ", update->declined);
    turn.asked.at_fault = true;
    return;
  }
  turn.asked.report = std::move(update->report);
  UpdateNumbers told;
  std::span<const float> parameters = update->parameters;
  if (turn.client < options_.liars) {
    told = Lie(task->parameters, parameters, options_.lie);
    parameters = told;
  }
  absl::StatusOr<UpdateNumbers> sent = Sent(parameters, *task, turn.asked.name);
  if (sent.ok()) {
    turn.update = *std::move(sent);
  } else {
    turn.missing = StrCat("it has no update: ", sent.status().message());
    turn.asked.at_fault = true;
  }
}

// The difference that an aggregator reads.
absl::StatusOr<UpdateNumbers> BufferedSimulation::Sent(std::span<const float> parameters,
                                                       const RoundTask& task,
                                                       const std::string& client) const {
  const auto trainable = size_t(options_.model.trainable);
  UpdateNumbers difference = DifferenceOf(parameters, task.parameters, trainable);
  if (!options_.compression.on()) return difference;
  DTNN_ASSIGN_OR_RETURN(const Philox rounding, RoundingOf(options_.seed, client, task.round));
  return SendAndRead(options_.compression, kParameterChunk, trainable, rounding,
                     std::move(difference));
}

absl::Status BufferedSimulation::TakeNext() {
  if (turns_.begin()->second.task != nullptr) TrainAhead();
  auto node = turns_.extract(turns_.begin());
  Turn& turn = node.mapped();
  clock_ = node.key().first;
  busy_.erase(turn.client);
  Asked& asked = turn.asked;
  if (asked.state == State::kLeftOut) return absl::OkStatus();
  --running_;
  DTNN_RETURN_IF_ERROR(turn.error);
  if (turn.missing.empty()) {
    const absl::Status good = buffer_.Check(turn.update, options_.max_update_norm);
    turn.missing = std::string(good.message());
    asked.at_fault = !good.ok();
  }
  if (turn.missing.empty()) {
    asked.state = State::kAccepted;
    asked.staleness = state_.rounds_done - turn.version;
    buffer_.Add(std::move(turn.update), asked);
    if (asked.staleness == 0) trained_.insert(asked.name);
  } else {
    asked.state = State::kLeftOut;
    asked.why = std::move(turn.missing);
    if (asked.at_fault && options_.warn) {
      options_.warn(StrCat("round ", state_.rounds_done + 1, ": client ", asked.name,
                           " is left out: ", asked.why));
    }
  }
  End(asked);
  return absl::OkStatus();
}

absl::Status BufferedSimulation::RunRound() {
  const auto begin = std::chrono::steady_clock::now();
  const double clock_begin = clock_;
  lost_.Clear();
  ended_.clear();
  too_stale_ = 0;
  DropStale();
  while (!buffer_.full()) {
    if (options_.interrupted && options_.interrupted()) {
      return absl::CancelledError(StrCat("interrupted after round ", state_.rounds_done));
    }
    DTNN_RETURN_IF_ERROR(AskClients());
    if (turns_.empty()) {
      return Unavailable("round ", state_.rounds_done + 1, ": has ", buffer_.updates(), " of ",
                         options_.buffer.size, " updates, and no other client can be asked");
    }
    DTNN_RETURN_IF_ERROR(TakeNext());
  }
  const std::vector<float> mean = buffer_.Mean(state_.parameters);
  DTNN_RETURN_IF_ERROR(TakeAverage(options_.strategy, size_t(options_.model.trainable), mean,
                                   ended_,
                                   /*all_samples=*/1, state_));
  task_.reset();
  buffer_.Clear();
  trained_.clear();
  RoundRecord record = RecordOfRound(state_, {}, ended_);
  record.attempts = 1;
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  record.simulated_seconds = clock_ - clock_begin;
  record.buffer = BufferRecordOf(record.clients, too_stale_);
  return options_.round_done ? options_.round_done(record, state_) : absl::OkStatus();
}

absl::Status BufferedSimulation::Run() {
  while (state_.rounds_done < options_.rounds) DTNN_RETURN_IF_ERROR(RunRound());
  return absl::OkStatus();
}

}  // namespace dtnn::federation
