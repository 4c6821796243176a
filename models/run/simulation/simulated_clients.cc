#include "models/run/simulation/simulated_clients.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "comm/federation/client/update_numbers.h"
#include "kernels/device/context.h"
#include "models/callbacks/last_metrics.h"
#include "models/parameters/parameter_store.h"
#include "models/run/federated/train_round.h"
#include "models/run/parts/make_device.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/prepare/run_memory.h"
#include "models/run/samples/make_loaders.h"
#include "models/training/trainer.h"
#include "optim/optimizers/proximal.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {

// What one thread trains with.
struct SimulatedClients::Worker {
  std::unique_ptr<DeviceContext> context;
  std::unique_ptr<ParameterStore> store;
  std::shared_ptr<ProximalOptimizer> optimizer;
  std::unique_ptr<Trainer> trainer;
  LastMetrics metrics;
  std::array<Callback*, 1> callbacks = {&metrics};
  std::vector<float> sent = {};  // where some parameters are not

  RoundTraining Round(const RunOptions& options) {
    return {.options = options,
            .store = *store,
            .trainer = *trainer,
            .optimizer = *optimizer,
            .metrics = metrics,
            .callbacks = callbacks};
  }
};

namespace {

std::vector<float> LocalOf(const ExchangedParameters& exchanged, const ParameterStore& store) {
  std::vector<float> local(exchanged.local_values());
  exchanged.GetLocal(store, local);
  return local;
}

// What stays with a client: its control variate, or some parameters and what it has not sent.
std::vector<float> FirstOwn(const ExchangedParameters& exchanged, const ParameterStore& store,
                            bool controls, bool owes) {
  if (controls) return std::vector<float>(exchanged.trainable());
  std::vector<float> own = LocalOf(exchanged, store);
  if (owes) own.resize(own.size() + exchanged.trainable());
  return own;
}

}  // namespace

SimulatedClients::SimulatedClients(const PreparedRun& run, const ExchangedParameters& exchanged,
                                   const ParameterStore& first,
                                   std::vector<std::vector<int64_t>> samples, bool controls,
                                   bool owes)
    : run_(run),
      samples_(std::move(samples)),
      exchanged_(exchanged),
      controls_(controls),
      local_(samples_.size(), FirstOwn(exchanged, first, controls, owes)) {}

SimulatedClients::~SimulatedClients() = default;

absl::StatusOr<std::unique_ptr<SimulatedClients>> SimulatedClients::Create(
    const PreparedRun& run, const ExchangedParameters& exchanged, const ParameterStore& first,
    std::vector<std::vector<int64_t>> samples, int64_t most_at_once,
    const std::function<double(int threads)>& round_bytes, bool controls, bool owes,
    const AvailableMemory& available) {
  std::unique_ptr<SimulatedClients> clients(
      new SimulatedClients(run, exchanged, first, std::move(samples), controls, owes));
  DTNN_RETURN_IF_ERROR(clients->CountSamples());
  DTNN_ASSIGN_OR_RETURN(const int64_t max_batch, clients->MaxBatch());
  const auto threads = int(std::min<int64_t>(NumThreads(), most_at_once));
  DTNN_RETURN_IF_ERROR(clients->CheckMemory(max_batch, threads, round_bytes(threads), available));
  DTNN_RETURN_IF_ERROR(clients->MakeWorkers(max_batch, threads));
  return clients;
}

absl::Status SimulatedClients::CountSamples() {
  for (const std::vector<int64_t>& own : samples_) {
    trained_.push_back(0);
    if (own.empty()) continue;
    DTNN_ASSIGN_OR_RETURN(trained_.back(), CountClientSamples(run_.options, run_.dataset, own));
  }
  return absl::OkStatus();
}

int64_t SimulatedClients::steps(int client) const {
  const int64_t batches = CeilDiv(samples(client), run_.loaders.training->options().batch);
  return StepsOfRound(run_.options, batches);
}

absl::StatusOr<int64_t> SimulatedClients::MaxBatch() const {
  const auto largest = std::ranges::max_element(trained_);
  if (largest == trained_.end() || *largest == 0) {
    return absl::InvalidArgumentError("no client has samples to train on");
  }
  const std::vector<int64_t>& most = samples_[size_t(largest - trained_.begin())];
  DTNN_ASSIGN_OR_RETURN(const Loaders loaders, MakeClientLoaders(run_.options, run_.dataset, most));
  return loaders.training->max_batch();
}

absl::Status SimulatedClients::CheckMemory(int64_t max_batch, int threads, double round_bytes,
                                           const AvailableMemory& available) const {
  const Loader* const test = run_.loaders.test.get();
  const ProximalOptimizer optimizer(run_.optimizer);
  absl::StatusOr<RunMemory> memory;
  ParallelThreads(1, [&](int) {  // as the plan of a worker, which has one thread
    memory =
        MeasureMemory(run_.options, run_.graph, *run_.metric_set.loss, &optimizer, *run_.context,
                      {.training = max_batch,
                       .testing = test == nullptr ? 0 : test->max_batch(),
                       .ahead = max_batch});
  });
  DTNN_RETURN_IF_ERROR(memory.status());
  return CheckMemoryOfThreads(*memory, round_bytes, available, threads);
}

absl::Status SimulatedClients::MakeWorkers(int64_t max_batch, int threads) {
  workers_.resize(size_t(threads));
  std::vector<absl::Status> made(size_t(threads), absl::OkStatus());
  // There, so that a plan is one of a single thread.
  ParallelThreads(threads, [&](int thread) {
    absl::StatusOr<std::unique_ptr<Worker>> worker = MakeWorker(max_batch);
    made[size_t(thread)] = worker.status();
    if (worker.ok()) workers_[size_t(thread)] = *std::move(worker);
  });
  for (const absl::Status& status : made) DTNN_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SimulatedClients::Worker>> SimulatedClients::MakeWorker(
    int64_t max_batch) const {
  auto worker = std::make_unique<Worker>();
  DTNN_ASSIGN_OR_RETURN(worker->context, MakeDevice(run_.options, RankPlace{}));
  DTNN_ASSIGN_OR_RETURN(worker->store,
                        ParameterStore::Create(run_.graph, *worker->context, DType::kFloat32,
                                               uint64_t(run_.options.training.seed)));
  worker->optimizer = std::make_shared<ProximalOptimizer>(run_.optimizer);
  TrainerOptions options =
      MakeTrainerOptions(run_.options, run_.metric_set, worker->optimizer, nullptr);
  options.training_loss = run_.training_loss;
  DTNN_ASSIGN_OR_RETURN(worker->trainer,
                        Trainer::Create(run_.graph, *worker->store, *worker->context, options));
  DTNN_RETURN_IF_ERROR(worker->trainer->PrepareForTraining(max_batch));
  return worker;
}

absl::StatusOr<federation::SimulatedUpdate> SimulatedClients::Train(
    int thread, int client, const federation::RoundTask& task) {
  Worker& worker = *workers_[size_t(thread)];
  const RoundTraining round = worker.Round(run_.options);
  DTNN_ASSIGN_OR_RETURN(const Loaders loaders,
                        MakeClientLoaders(run_.options, run_.dataset, samples_[size_t(client)]));
  exchanged_.Set(task.parameters, *worker.store);
  const std::span<const float> own = local_.Begin(client);
  if (!controls_) exchanged_.SetLocal(own.first(exchanged_.local_values()), *worker.store);
  DTNN_ASSIGN_OR_RETURN(
      TrainedRound trained,
      TrainRound(round, task, loaders, controls_ ? own : std::span<const float>()));
  if (!trained.diverged.empty()) return federation::SimulatedUpdate{.declined = kDiverged};
  std::span<const float> sent = exchanged_.View(*worker.store, worker.sent);
  if (controls_) {
    std::vector<float> control(own.begin(), own.end());
    std::ranges::transform(control, trained.change, control.begin(), std::plus<float>());
    local_.Keep(client, std::move(control));
    worker.sent.assign(sent.begin(), sent.end());
    worker.sent.insert(worker.sent.end(), trained.change.begin(), trained.change.end());
    sent = worker.sent;
  } else if (local_.size() > 0) {
    std::vector<float> owed;
    if (task.compression.owes()) {
      if (sent.data() != worker.sent.data()) worker.sent.assign(sent.begin(), sent.end());
      owed = federation::AddOwed(task.compression, task.parameters,
                                 own.subspan(exchanged_.local_values()), worker.sent);
      sent = worker.sent;
    }
    local_.Keep(client, OwnAfter(worker, std::move(owed)));
  }
  return federation::SimulatedUpdate{.parameters = sent, .report = std::move(trained.report)};
}

std::vector<float> SimulatedClients::OwnAfter(const Worker& worker, std::vector<float> owed) const {
  const std::vector<float> local = LocalOf(exchanged_, *worker.store);
  owed.insert(owed.begin(), local.begin(), local.end());
  return owed;
}

absl::StatusOr<NamedMetrics> SimulatedClients::Test(std::span<const float> parameters,
                                                    std::string_view prefix) {
  Worker& worker = *workers_[0];
  exchanged_.Set(parameters, *worker.store);
  DTNN_ASSIGN_OR_RETURN(const MetricAverages averages,
                        worker.trainer->Evaluate(*run_.loaders.test, {}));
  return averages.Values(prefix);
}

}  // namespace dtnn
