#include "comm/federation/simulation/simulated_attempt.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "comm/federation/aggregator/sums/plain_sum.h"
#include "comm/federation/client/update_numbers.h"
#include "comm/federation/compression.h"
#include "comm/federation/factors.h"
#include "comm/federation/hidden_metrics.h"
#include "comm/federation/privacy/privacy.h"
#include "comm/federation/simulation/lie.h"
#include "tensor/errors.h"
#include "tensor/philox.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using State = Asked::State;

// Zeros before the first round; nothing where the strategy has none.
std::vector<float> ControlOf(const SimulationOptions& options, const FederationState& state) {
  std::vector<float> control = state.control;
  control.resize(options.strategy.controls() ? size_t(options.model.trainable) : 0);
  return control;
}

void LeaveOut(Asked& asked, std::string why, bool at_fault) {
  asked.state = State::kLeftOut;
  asked.why = std::move(why);
  asked.at_fault = at_fault;
}

}  // namespace

SimulatedAttempt::SimulatedAttempt(const SimulationOptions& options, const Protector& protector,
                                   const SimulationSeed& seed, const TrainClient& train,
                                   const FederationState& state, std::vector<int> ids,
                                   std::vector<Asked> asked)
    : options_(options),
      protector_(protector),
      seed_(seed),
      train_(train),
      attempt_(state.attempts),
      ids_(std::move(ids)),
      asked_(std::move(asked)),
      values_(ValuesOfUpdate(options.model, options.strategy.controls())),
      clip_(ClipOfRound(protector, options.min_clients, int(asked_.size()), state)),
      task_{.round = state.rounds_done + 1,
            .rounds = options.rounds,
            .proximal =
                options.strategy.strategy == Strategy::kFedprox ? options.strategy.proximal : 0,
            .by_steps = options.strategy.by_steps(),
            .parameters = state.parameters,
            .control = ControlOf(options, state),
            .compression = options.compression},
      together_(protector.together(options.min_clients, int(asked_.size()))),
      needed_(protector.hides_in_sums() ? std::max(together_, options.min_clients)
                                        : options.min_clients),
      sum_(protector, options.robust, protector.sum_values(values_), int(asked_.size())) {}

absl::Status SimulatedAttempt::Run() {
  DTNN_RETURN_IF_ERROR(DropOut());
  if (!CheckLeft(asked_, needed_).ok()) return absl::OkStatus();  // as Mean() says
  if (options_.begin_attempt) options_.begin_attempt(task_.round, asked_);
  OrderedUpdates ordered(options_.threads, [this](int position, UpdateNumbers update) {
    Take(position, std::move(update));
  });
  std::atomic<int> next = 0;
  ParallelThreads(options_.threads, [&](int thread) {
    while (true) {
      const int position = next++;
      if (position >= int(asked_.size())) return;
      ordered.Give(position, Train(thread, position));
    }
  });
  return error_;
}

absl::StatusOr<std::vector<float>> SimulatedAttempt::Mean() {
  DTNN_RETURN_IF_ERROR(CheckLeft(asked_, needed_));
  std::vector<double> factors;
  std::vector<const Metrics*> names;
  for (const Asked& asked : asked_) {
    if (asked.state != State::kAccepted) continue;
    factors.push_back(asked.factor);
    names.push_back(&asked.report.metrics);
  }
  const double weight = std::accumulate(factors.begin(), factors.end(), 0.0);
  if (protector_.hides_in_sums()) {
    DTNN_RETURN_IF_ERROR(CheckWeightLeft(weight));
    DTNN_RETURN_IF_ERROR(CheckHidden(factors, options_.least_clients));
  } else if (!options_.robust.on()) {
    DTNN_RETURN_IF_ERROR(CheckPlainWeightLeft(weight, factors.size()));
  }
  DTNN_ASSIGN_OR_RETURN(std::vector<float> mean, sum_.Mean(task_.parameters));
  if (protector_.privacy().adapts()) {
    below_ = ShareBelow(protector_.privacy(), mean[values_]);
  } else if (mean.size() > values_) {
    metrics_ = MetricsOfSum(names, std::span(mean).subspan(values_));
    for (Asked& asked : asked_) asked.report.metrics.clear();
  }
  mean.resize(values_);
  return mean;
}

int SimulatedAttempt::accepted() const {
  return int(std::ranges::count(asked_, State::kAccepted, &Asked::state));
}

// The clients that are lost in this attempt, before any trains.
absl::Status SimulatedAttempt::DropOut() {
  if (options_.drop_out <= 0) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, seed_.Stream(SimulationSeed::kDropOut, attempt_));
  std::vector<uint32_t> bits(asked_.size());
  random.FillWords(std::span(bits));
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] * 0x1p-32 < options_.drop_out) LeaveOut(asked_[i], "it has dropped out", false);
  }
  return absl::OkStatus();
}

// Empty where there is no update.
UpdateNumbers SimulatedAttempt::Train(int thread, int position) {
  Asked& asked = asked_[size_t(position)];
  if (asked.state == State::kLeftOut || position > failed_) return {};
  absl::StatusOr<SimulatedUpdate> update = train_(thread, ids_[size_t(position)], task_);
  if (!update.ok()) {
    const std::lock_guard lock(mutex_);
    if (position < failed_) {
      failed_ = position;
      error_ = WithContext(update.status(), "client ", asked.name);
    }
    return {};
  }
  if (!update->declined.empty()) {
    LeaveOut(asked, StrCat("it has no update: ", update->declined), true);
    return {};
  }
  asked.report = std::move(update->report);
  absl::StatusOr<UpdateNumbers> numbers = Numbers(update->parameters, position);
  if (numbers.ok()) return *std::move(numbers);
  LeaveOut(asked, std::string(numbers.status().message()), true);
  return {};
}

// What the client sends, where it may be added.
absl::StatusOr<UpdateNumbers> SimulatedAttempt::Numbers(std::span<const float> parameters,
                                                        int position) {
  Asked& asked = asked_[size_t(position)];
  UpdateNumbers told, noisy;
  if (ids_[size_t(position)] < options_.liars) {
    told = Lie(task_.parameters, parameters.first(task_.parameters.size()), options_.lie);
    const std::span<const float> change = parameters.subspan(task_.parameters.size());
    told.insert(told.end(), change.begin(), change.end());
    parameters = told;
  }
  if (protector_.privacy().on()) {
    DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, seed_.Stream(SimulationSeed::kNoise, attempt_,
                                                              uint64_t(ids_[size_t(position)])));
    DTNN_ASSIGN_OR_RETURN(noisy, PrivateUpdate(protector_, clip_, task_.parameters, asked.factor,
                                               together_, random, parameters));
    parameters = noisy;
  }
  const std::vector<float> hidden =
      HideReport(protector_, /*plain_metrics=*/false, asked.report.metrics);
  UpdateNumbers numbers;
  if (options_.compression.on()) {
    DTNN_ASSIGN_OR_RETURN(numbers, Compressed(parameters, asked));
  } else {
    numbers.resize(protector_.sum_values(values_));
    ScaleNumbers(parameters, hidden, asked.factor, 0, numbers);
  }
  if (protector_.protection() == Protection::kNone) {
    DTNN_RETURN_IF_ERROR(
        CheckUpdate(numbers, asked.factor, task_.parameters, options_.max_update_norm));
  }
  return numbers;
}

// The update that an aggregator makes of what it is sent.
absl::StatusOr<UpdateNumbers> SimulatedAttempt::Compressed(std::span<const float> parameters,
                                                           const Asked& asked) const {
  const auto trainable = size_t(options_.model.trainable);
  DTNN_ASSIGN_OR_RETURN(const Philox rounding, RoundingOf(options_.seed, asked.name, task_.round));
  DTNN_ASSIGN_OR_RETURN(
      UpdateNumbers update,
      SendAndRead(options_.compression, protector_.chunk_values(), trainable, rounding,
                  DifferenceOf(parameters, task_.parameters, trainable)));
  AddBegin(task_.parameters, trainable, asked.factor, update);
  return update;
}

// One thread at a time, in the order of positions.
void SimulatedAttempt::Take(int position, UpdateNumbers update) {
  if (update.empty()) return;
  Asked& asked = asked_[size_t(position)];
  const absl::Status added = sum_.Add(std::move(update), asked.factor);
  if (added.ok()) {
    asked.state = State::kAccepted;
  } else {
    LeaveOut(asked, StrCat("it has no update: ", added.message()), true);
  }
}

}  // namespace dtnn::federation
