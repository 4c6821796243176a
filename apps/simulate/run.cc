#include "apps/simulate/run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/flags/argument_flags.h"
#include "apps/printing/progress.h"
#include "apps/rounds/round_output.h"
#include "apps/simulate/client_labels.h"
#include "apps/simulate/simulation_identity.h"
#include "apps/simulate/simulation_memory.h"
#include "comm/federation/aggregator/choice/criterion.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/simulation/client_seconds.h"
#include "comm/federation/simulation/simulation.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "data/loading/division/division.h"
#include "models/checkpoint/run_identity.h"
#include "models/parameters/parameter_store.h"
#include "models/run/federated/exchanged_parameters.h"
#include "models/run/federated/federation_options.h"
#include "models/run/federated/train_round.h"
#include "models/run/initial_weights.h"
#include "models/run/parts/make_training.h"
#include "models/run/prepare/prepared_run.h"
#include "models/run/simulation/simulated_clients.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using federation::Asked;
using federation::FederationState;
using federation::RoundRecord;
using federation::SimulatedClient;

// What each client's training is prepared with: files are those of the rounds, and what updates are
// protected with is theirs too.
RunOptions OptionsOfTraining(const SimulateFlags& flags) {
  RunOptions options = flags.run;
  options.training.evaluate = flags.rounds.test_every > 0;
  options.encryption = {};
  options.federation = {};
  options.checkpoint = {};
  options.output = {};
  options.force = true;  // SimulatedClients counts the memory of all threads
  return options;
}

class Simulation {
 public:
  Simulation(const SimulateFlags& flags, std::ostream& out, std::ostream& err)
      : flags_(flags),
        out_(out),
        err_(err),
        display_(ChooseDisplay(flags.run.progress, DetectDisplay(STDOUT_FILENO))),
        prepared_(OptionsOfTraining(flags), {}),
        log_(prepared_.options, 0, 1,
             {.print = [this](std::string_view text) { out_ << NameFlags(text) << std::flush; },
              .warn = [this](std::string_view line) { Warn(line); }}) {}

  absl::Status Run() {
    const federation::StrategyOptions strategy = StrategyOf(flags_.rounds);
    if (strategy.by_steps() || strategy.controls()) {  // before data are read
      DTNN_ASSIGN_OR_RETURN(const auto optimizer, MakeOptimizer(flags_.run));
      DTNN_RETURN_IF_ERROR(WithExitCode(
          strategy.by_steps() ? CheckCountOfSteps(*optimizer) : CheckControlled(*optimizer),
          kExitUsage));
    }
    DTNN_RETURN_IF_ERROR(prepared_.Prepare(log_));
    for (const std::string& warning : WarningsOf(flags_.rounds, SizesOf(flags_))) Warn(warning);
    DTNN_RETURN_IF_ERROR(MakeServer());
    DTNN_RETURN_IF_ERROR(MakeClients());
    DTNN_ASSIGN_OR_RETURN(
        const federation::Protector protector,
        federation::Protector::Create(ProtectionOf(flags_.run), size_t(model_.values)));
    DTNN_ASSIGN_OR_RETURN(RunIdentity identity, IdentityOf(flags_, prepared_));
    RoundOutput output({.run = flags_.run,
                        .clients_file = flags_.rounds.clients_file,
                        .rounds = flags_.rounds.rounds,
                        .settings = {.strategy = Settings(),
                                     .protection = protector.ToString(),
                                     .is_private = protector.privacy().on(),
                                     .identity = std::move(identity)},
                        .facts = PageFacts(),
                        .better = BetterOf(prepared_.metric_set),
                        .graph = prepared_.graph,
                        .exchanged = exchanged_,
                        .store = *store_,
                        .context = *prepared_.context,
                        .out = out_,
                        .warn = [this](std::string_view line) { Warn(line); }});
    DTNN_ASSIGN_OR_RETURN(FederationState state, output.Begin());
    const std::string& folder = flags_.run.checkpoint.folder;
    const bool keeps = clients_->keeps() && !folder.empty();
    if (keeps && state.rounds_done > 0) {
      DTNN_RETURN_IF_ERROR(WithContext(clients_->LoadOwn(folder, state.rounds_done), "--resume"));
    }
    const Interrupt interrupt;
    federation::SimulationOptions options = SimulationOf();
    options.charged = [&](const FederationState& charged) { return output.Charged(charged); };
    options.round_done = [&](RoundRecord record, const FederationState& now) {
      bar_.reset();
      if (!HasClock()) record.simulated_seconds.reset();
      for (const Asked& asked : record.clients) {
        if (asked.state == Asked::State::kAccepted) clients_->Accept(ids_.at(asked.name));
      }
      if (keeps) DTNN_RETURN_IF_ERROR(clients_->SaveOwn(folder, now.rounds_done));
      DTNN_RETURN_IF_ERROR(AddTest(record, now));
      return output.RoundDone(record, now);
    };
    const auto train = [this](int thread, int client, const federation::RoundTask& task) {
      return Train(thread, client, task);
    };
    const absl::Status status = RunSimulation(options, names_, train, state);
    bar_.reset();
    return output.Finish(status, state);
  }

 private:
  void Warn(std::string_view line) {
    err_ << StrCat("simulate: warning: ", NameFlags(OneLine(line)), "\n") << std::flush;
  }

  // The parameters that the first round begins with.
  absl::Status MakeServer() {
    DTNN_ASSIGN_OR_RETURN(
        store_, ParameterStore::Create(prepared_.graph, *prepared_.context, DType::kFloat32,
                                       uint64_t(flags_.run.training.seed)));
    DTNN_RETURN_IF_ERROR(LoadInitialWeights(prepared_, *store_, log_));
    DTNN_ASSIGN_OR_RETURN(exchanged_, FindExchanged(flags_.run, prepared_.graph, *store_));
    DTNN_ASSIGN_OR_RETURN(model_, ModelFactsOf(prepared_.graph, *store_, exchanged_));
    return CheckProtection(flags_.run, model_);
  }

  absl::Status MakeClients() {
    const Dataset& data = *prepared_.dataset;
    DTNN_ASSIGN_OR_RETURN(const Division division, ParseDivision(flags_.split));
    DTNN_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> samples,
                          WithContext(DivideSamples(division, data.size(Split::kTrain),
                                                    data.labels(Split::kTrain), flags_.clients),
                                      "--split=", flags_.split));
    DTNN_ASSIGN_OR_RETURN(
        clients_, SimulatedClients::Create(
                      prepared_, exchanged_, *store_, std::move(samples), flags_.clients_per_round,
                      [this](int threads) {
                        return BytesOfRounds(flags_, model_, exchanged_.local_values(), threads);
                      },
                      StrategyOf(flags_.rounds).controls(), CompressionOf(flags_.rounds).owes()));
    DTNN_ASSIGN_OR_RETURN(const std::vector<federation::Labels> labels,
                          ReadClientLabels(flags_.client_labels_file, flags_.clients));
    const auto digits = int(std::to_string(flags_.clients).size());
    int64_t without = 0, least = INT64_MAX, most = 0;
    for (int client = 0; client < int(flags_.clients); ++client) {
      const int64_t own = clients_->samples(client);
      names_.push_back({.name = absl::StrFormat("client-%0*d", digits, client + 1),
                        .samples = own,
                        .steps = clients_->steps(client),
                        .labels = labels[size_t(client)]});
      ids_.emplace(names_.back().name, client);
      if (StrategyOf(flags_.rounds).by_steps()) {
        DTNN_RETURN_IF_ERROR(WithContext(
            CheckCountOfSteps(*prepared_.optimizer, names_.back().steps), names_.back().name));
      }
      without += own == 0 ? 1 : 0;
      if (own > 0) least = std::min(least, own);
      most = std::max(most, own);
    }
    const int64_t buffer = flags_.rounds.buffer_size;
    out_ << StrCat("**** ", Counted(flags_.clients, "client"), ", ", flags_.clients_per_round,
                   buffer > 0 ? StrCat(" at a time, ", Counted(buffer, "update")) : "",
                   " in each of ", Counted(flags_.rounds.rounds, "round"), ", ", least, " to ",
                   Counted(most, "sample"), " each (--split=", flags_.split, ")\n")
         << std::flush;
    if (without > 0) {
      Warn(StrCat("--split=", flags_.split, ": ", Counted(without, "client"),
                  without == 1 ? " has" : " have", " no samples, and ", without == 1 ? "is" : "are",
                  " never asked"));
    }
    return absl::OkStatus();
  }

  bool HasClock() const {
    return flags_.rounds.buffer_size > 0 || flags_.client_seconds != "equal";
  }

  // What must be the same where the rounds continue, in words.
  std::string Settings() const {
    return StrCat(flags_.rounds.strategy, ", over ", flags_.clients, " simulated clients, ",
                  flags_.clients_per_round, " a round, split ", flags_.split, ", seed ",
                  flags_.run.training.seed,
                  flags_.run.federation.local_parameters.empty()
                      ? ""
                      : StrCat(", without ", flags_.run.federation.local_parameters),
                  // Files of clients have what they have not sent.
                  CompressionOf(flags_.rounds).owes() ? ", top-k updates" : "");
  }

  ReportFacts PageFacts() const {
    return {.network = StrCat(prepared_.graph.name(), ", by a simulated federation"),
            .sentence = StrCat(
                prepared_.graph.name(), " (", Counted(int64_t(model_.values), "number"),
                ") is averaged over ", flags_.clients_per_round, " of ",
                Counted(flags_.clients, "client"),
                flags_.rounds.buffer_size > 0
                    ? StrCat(" at a time, whenever ", flags_.rounds.buffer_size,
                             " updates are there, by ")
                    : " a round, by ",
                flags_.rounds.strategy, "; samples are divided as --split=", flags_.split,
                " says. An epoch here is a round; metrics are the clients' own, weighted with "
                "their samples, those of validation are of the average on the test split.")};
  }

  federation::SimulationOptions SimulationOf() {
    return {.model = model_,
            .protection = ProtectionOf(flags_.run),
            .strategy = StrategyOf(flags_.rounds),
            .rounds = flags_.rounds.rounds,
            .select = *federation::Criterion::Parse(flags_.rounds.select),
            .clients_per_round = int(flags_.clients_per_round),
            .min_clients = int(flags_.min_clients),
            .max_update_norm = flags_.rounds.max_update_norm,
            .buffer = BufferOf(flags_.rounds),
            .client_seconds = *federation::ParseClientSeconds(flags_.client_seconds),
            .compression = CompressionOf(flags_.rounds),
            .robust = *federation::ParseRobust(flags_.rounds.robust),
            .least_clients = flags_.run.federation.least_clients,
            .drop_out = flags_.drop_out,
            .liars = int(std::llround(flags_.liars * double(flags_.clients))),
            .lie = flags_.lie,
            .threads = clients_->threads(),
            .seed = uint64_t(flags_.run.training.seed),
            .warn = [this](std::string_view line) { Warn(line); },
            .interrupted = [] { return Interrupt::Last() != 0; },
            .begin_attempt = [this](int64_t round,
                                    std::span<const Asked> asked) { ShowRound(round, asked); }};
  }

  void ShowRound(int64_t round, std::span<const Asked> asked) {
    if (!display_.live || flags_.run.progress == "none") return;
    int64_t samples = 0;
    for (const Asked& client : asked) {
      if (client.state != Asked::State::kLeftOut) samples += client.samples;
    }
    bar_.emplace(EpochDescription(round, flags_.rounds.rounds, "Round"),
                 samples * flags_.run.training.epochs, display_, out_);
  }

  absl::StatusOr<federation::SimulatedUpdate> Train(int thread, int client,
                                                    const federation::RoundTask& task) {
    auto update = clients_->Train(thread, client, task);
    const std::lock_guard lock(mutex_);
    if (bar_) {
      bar_->Advance(clients_->samples(client) * flags_.run.training.epochs, [](std::string&) {});
    }
    return update;
  }

  absl::Status AddTest(RoundRecord& record, const FederationState& state) {
    if (!flags_.rounds.TestsAfter(record.round)) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const NamedMetrics metrics, clients_->Test(state.parameters, "val_"));
    for (const auto& [name, value] : metrics) record.metrics.emplace_back(name, value);
    return absl::OkStatus();
  }

  const SimulateFlags& flags_;
  std::ostream &out_, &err_;
  const Display display_;
  PreparedRun prepared_;
  RunLog log_;
  std::unique_ptr<ParameterStore> store_;
  federation::ModelFacts model_;
  ExchangedParameters exchanged_;
  std::unique_ptr<SimulatedClients> clients_;
  std::vector<SimulatedClient> names_;
  std::map<std::string, int> ids_;  // by name
  std::mutex mutex_;
  std::optional<ProgressBar> bar_;  // of the round
};

}  // namespace

absl::Status Simulate(const SimulateFlags& flags, std::ostream& out, std::ostream& err) {
  return NameFlags(Simulation(flags, out, err).Run());
}

}  // namespace dtnn
