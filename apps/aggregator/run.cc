#include "apps/aggregator/run.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/aggregator/federation_watch.h"
#include "apps/aggregator/network.h"
#include "apps/aggregator/parent.h"
#include "apps/aggregator/test_data.h"
#include "apps/flags/argument_flags.h"
#include "apps/monitor/monitor.h"
#include "apps/rounds/round_output.h"
#include "comm/federation/aggregator/aggregator.h"
#include "comm/federation/aggregator/choice/criterion.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/identity/allowed_clients.h"
#include "comm/ranks/job/interrupt.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "comm/transport/tcp/socket.h"
#include "kernels/device/context.h"
#include "models/checkpoint/run_identity.h"
#include "models/observe/report/run_report.h"
#include "models/parameters/weights.h"
#include "models/run/federated/exchanged_parameters.h"
#include "models/run/federated/federation_options.h"
#include "models/run/options/option_value.h"
#include "tensor/errors.h"
#include "tensor/format.h"
#include "tensor/stopwatch.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

using federation::AggregatorOptions;
using federation::AllowedClients;
using federation::FederationState;
using federation::RoundRecord;

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(int64_t(1000 * seconds));
}

class Run {
 public:
  Run(const AggregatorFlags& flags, std::ostream& out, std::ostream& err)
      : flags_(flags), out_(out), err_(err), watch_(Milliseconds(flags.run.ranks.timeout)) {}

  absl::Status operator()() {
    const Options& options = flags_.run;
    DTNN_RETURN_IF_ERROR(FindIdentities());
    DTNN_RETURN_IF_ERROR(MakeNetwork());
    DTNN_ASSIGN_OR_RETURN(const ExchangedParameters exchanged,
                          FindExchanged(options, network_->graph, *store_));
    DTNN_ASSIGN_OR_RETURN(const federation::ModelFacts model,
                          ModelFactsOf(network_->graph, *store_, exchanged));
    DTNN_RETURN_IF_ERROR(CheckProtection(flags_.run, model));
    DTNN_ASSIGN_OR_RETURN(parent_,
                          FindParent(flags_, [this](std::string_view line) { Warn(line); }));
    DTNN_ASSIGN_OR_RETURN(Meeting meeting, FindMeeting(flags_.address, "--address",
                                                       options.ranks.transport, kAggregatorName));
    if (meeting.place.datagrams) DTNN_RETURN_IF_ERROR(CheckRelayedRounds(flags_));
    Socket listener;
    if (!meeting.place.datagrams) {
      DTNN_ASSIGN_OR_RETURN(listener, WithContext(Listen(meeting.place.address), "--address"));
    }
    if (!meeting.warning.empty()) Warn(meeting.warning);
    for (const std::string& warning : WarningsOf(flags_.rounds, SizesOf(flags_))) Warn(warning);
    DTNN_ASSIGN_OR_RETURN(
        const federation::Protector protector,
        federation::Protector::Create(ProtectionOf(options), size_t(model.values)));
    RoundOutput output({.run = options,
                        .clients_file = flags_.rounds.clients_file,
                        .rounds = rounds(),
                        .settings = {.strategy = Settings(),
                                     .protection = protector.ToString(),
                                     .is_private = protector.privacy().on(),
                                     .identity = Identity()},
                        .facts = PageFacts(model),
                        .better = BetterOf(network_->metric_set),
                        .graph = network_->graph,
                        .exchanged = exchanged,
                        .store = *store_,
                        .context = *context_,
                        .out = out_,
                        .warn = [this](std::string_view line) { Warn(line); },
                        .loss = network_->metric_set.Names().front()});
    DTNN_ASSIGN_OR_RETURN(FederationState state, output.Begin());
    watch_.Begin(network_->graph.name(), state.rounds_done, rounds(),
                 /*hides_drawn=*/protector.privacy().on());
    watch_.Remember(output.history());
    if (!flags_.monitor.port && flags_.monitor != MonitorOptions()) {
      Warn("options that begin with --metrics- have no effect without --metrics-port");
    }
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Monitor> monitor,
                          Monitor::Start(flags_.monitor, watch_));
    out_ << "**** " << network_->graph.name() << ", samples of "
         << ToString(ExtentsOf(network_->graph.input_shape(), network_->graph.format())) << ", "
         << Counted(int64_t{network_->classes.outputs}, "output") << ", "
         << Counted(int64_t(model.values), "number")
         << (exchanged.local_values() > 0
                 ? StrCat(" (and ", exchanged.local_values(), " that stay with each client), ")
                 : ", ")
         << (parent_ ? StrCat("the rounds of the aggregator at ", flags_.parent)
                     : StrCat(Counted(rounds() - state.rounds_done, "round"), " to do"))
         << "; waits for clients at " << meeting.place.address.ToString() << "\n"
         << identities_;
    if (monitor != nullptr) out_ << "**** Metrics at " << monitor->url() << "\n";
    out_ << std::flush;
    const Interrupt interrupt;
    if (!meeting.place.datagrams) meeting.place.listener = listener.Release();
    AggregatorOptions aggregator = OptionsOf(std::move(meeting), model);
    aggregator.charged = [&](const FederationState& charged) { return output.Charged(charged); };
    aggregator.round_done = [&](const RoundRecord& of_clients, const FederationState& now) {
      watch_.OnSave();
      RoundRecord watched = of_clients;
      // Those of validation are the aggregator's own where it tests.
      if (flags_.rounds.test_every > 0) {
        std::erase_if(watched.metrics,
                      [](const auto& metric) { return metric.first.starts_with("val_"); });
      }
      const RoundRecord record = watched;
      const auto test = [&](RoundRecord& tested) {
        AddTest(tested);
        watched = tested;
      };
      const bool tests = flags_.rounds.TestsAfter(record.round);
      DTNN_RETURN_IF_ERROR(tests ? output.RoundDone(record, now, test)
                                 : output.RoundDone(record, now));
      watch_.OnRoundDone(watched);
      return absl::OkStatus();
    };
    const absl::Status status = federation::RunAggregator(aggregator, *secret_, state);
    watch_.OnEnd();
    if (parent_ && status.ok()) exchanged.Set(state.parameters, *store_);  // its last ones
    return output.Finish(status, state);
  }

 private:
  int64_t rounds() const { return parent_ ? 0 : flags_.rounds.rounds; }

  void Warn(std::string_view line) {
    err_ << StrCat("aggregator: warning: ", NameFlags(OneLine(line)), "\n") << std::flush;
  }

  // Reads what they are proved with: the list is read again when the aggregator begins.
  absl::Status FindIdentities() {
    if (!flags_.allowed_clients.empty()) {
      DTNN_ASSIGN_OR_RETURN(
          const AllowedClients allowed,
          WithContext(AllowedClients::Read(flags_.allowed_clients), "--allowed-clients"));
      if (int64_t(allowed.size()) < flags_.min_clients) {
        Warn(StrCat("--allowed-clients=", flags_.allowed_clients, ": names ",
                    Counted(int64_t(allowed.size()), "client"),
                    "; no round begins before it names --min-clients=", flags_.min_clients));
      }
      identities_ = StrCat("**** ", Counted(int64_t(allowed.size()), "client"), " of ",
                           flags_.allowed_clients, " may take part\n");
    }
    if (flags_.identity_key_file.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(
        identity_, WithContext(ReadEd25519File(flags_.identity_key_file), "--identity-key-file"));
    DTNN_ASSIGN_OR_RETURN(const Ed25519PublicKey key, Ed25519PublicKeyOf(*identity_));
    StrAppend(&identities_, "**** proves to clients that it has --aggregator-key=", ToText(key),
              "\n");
    return absl::OkStatus();
  }

  absl::Status MakeNetwork() {
    const Options& options = flags_.run;
    DTNN_ASSIGN_OR_RETURN(network_, MakeAveragedNetwork(flags_));
    DTNN_ASSIGN_OR_RETURN(context_, DeviceContext::Create(Device::Cpu()));
    DTNN_ASSIGN_OR_RETURN(store_,
                          ParameterStore::Create(network_->graph, *context_, DType::kFloat32,
                                                 uint64_t(options.training.seed)));
    DTNN_RETURN_IF_ERROR(ReadTestData());
    if (options.network.weights.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(
        const LoadedWeights loaded,
        LoadWeights(options.network.weights, network_->graph, *store_, *context_));
    for (const std::string& warning : loaded.warnings) Warn(warning);
    return absl::OkStatus();
  }

  absl::Status ReadTestData() {
    if (flags_.rounds.test_every == 0) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(TestData data, TestData::Read(flags_.run, *network_, *store_, *context_));
    test_data_.emplace(std::move(data));
    out_ << "**** Tests the parameters on " << Counted(test_data_->samples(), "sample")
         << " of its own\n"
         << std::flush;
    return absl::OkStatus();
  }

  // The store has the parameters to test. Rounds continue where their test fails.
  void AddTest(RoundRecord& record) {
    const Stopwatch watch;
    const absl::StatusOr<NamedMetrics> metrics = test_data_->Test();
    if (const double seconds = watch.seconds(); seconds > flags_.run.ranks.timeout / 4) {
      Warn(
          absl::StrFormat("round %d: the test took %.0f s, in which clients hear nothing; with "
                          "fewer test samples, or a larger --comm-timeout of all, they do not "
                          "take the connection for lost",
                          record.round, seconds));
    }
    if (!metrics.ok()) {
      return Warn(StrCat("round ", record.round, ": no test: ", metrics.status().message()));
    }
    record.metrics.insert(record.metrics.end(), metrics->begin(), metrics->end());
  }

  // What must be the same where the rounds continue, in words.
  std::string Settings() const {
    const std::string& local = flags_.run.federation.local_parameters;
    return StrCat(flags_.rounds.strategy, local.empty() ? "" : ", without ", local);
  }

  RunIdentity Identity() const {
    RunIdentity identity = {.members = MembersOf(flags_.rounds)};
    identity.members.push_back(
        {.what = "--min-clients", .value = FormatValue(ToValue(flags_.min_clients))});
    identity.members.push_back(
        {.what = "--client-fraction", .value = FormatValue(ToValue(flags_.client_fraction))});
    return identity;
  }

  ReportFacts PageFacts(const federation::ModelFacts& model) const {
    const Options& options = flags_.run;
    return {.network = StrCat(network_->graph.name(), ", by a federation"),
            .sentence =
                StrCat(network_->graph.name(), " (", Counted(int64_t(model.values), "number"),
                       ") is averaged over clients, ",
                       flags_.rounds.buffer_size > 0
                           ? StrCat("whenever ", flags_.rounds.buffer_size, " updates are there")
                           : StrCat("at least ", flags_.min_clients, " a round"),
                       parent_ ? StrCat(", for the aggregator at ", flags_.parent)
                               : StrCat(", by ", flags_.rounds.strategy),
                       options.encryption.kind.empty() ? "" : ", with encryption ",
                       options.encryption.kind,
                       ". An epoch here is a round; metrics are the clients' own, weighted "
                       "with their samples",
                       test_data_ ? ", those of validation are of the average on the "
                                    "aggregator's own test data."
                                  : ".")};
  }

  AggregatorOptions OptionsOf(Meeting meeting, const federation::ModelFacts& model) {
    secret_.emplace(meeting.secret);
    const Options& options = flags_.run;
    return {.place = std::move(meeting.place),
            .model = model,
            .classes = network_->classes,
            .allowed_clients = flags_.allowed_clients,
            .identity = identity_,
            .protection = ProtectionOf(options),
            .strategy = StrategyOf(flags_.rounds),
            .rounds = flags_.rounds.rounds,
            .min_clients = int(flags_.min_clients),
            .select = *federation::Criterion::Parse(flags_.rounds.select),
            .client_fraction = flags_.client_fraction,
            .max_connections = int(flags_.max_connections),
            .receive_bytes = uint64_t(flags_.receive_memory) << 20,
            .deadline = Milliseconds(flags_.deadline),
            .timeout = Milliseconds(options.ranks.timeout),
            .max_update_norm = flags_.rounds.max_update_norm,
            .buffer = BufferOf(flags_.rounds),
            .parent = parent_,
            .compression = CompressionOf(flags_.rounds),
            .robust = *federation::ParseRobust(flags_.rounds.robust),
            .say = [this](std::string_view line) { out_ << "**** " << line << "\n"
                                                        << std::flush; },
            .warn = [this](std::string_view line) { Warn(line); },
            .interrupted = [] { return Interrupt::Last() != 0; },
            .observer = &watch_};
  }

  AggregatorFlags flags_;  // with what follows from a saved model
  std::ostream &out_, &err_;
  std::optional<AveragedNetwork> network_;
  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<ParameterStore> store_;
  std::optional<JobSecret> secret_;
  std::optional<federation::ParentOptions> parent_;
  std::optional<TestData> test_data_;
  std::optional<Secret> identity_;  // a key of Ed25519
  std::string identities_;          // lines about who proves what
  FederationWatch watch_;
};

}  // namespace

absl::Status RunAggregator(const AggregatorFlags& flags, std::ostream& out, std::ostream& err) {
  return Run(flags, out, err)();
}

}  // namespace dtnn
