#include "apps/aggregator/run.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/aggregator/network.h"
#include "apps/aggregator/round_files.h"
#include "apps/aggregator/round_page.h"
#include "apps/aggregator/round_state.h"
#include "comm/federation/aggregator/aggregator.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "kernels/device/context.h"
#include "models/observe/report/run_report.h"
#include "models/parameters/weights.h"
#include "models/run/federated/federation_options.h"
#include "tensor/errors.h"
#include "tensor/format.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

using federation::AggregatorOptions;
using federation::FederationState;
using federation::RoundRecord;

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(int64_t(1000 * seconds));
}

Resumption ResumptionOf(Resume resume) {
  if (resume == Resume::kIfThere) return Resumption::kIfThere;
  return resume == Resume::kYes ? Resumption::kMust : Resumption::kNo;
}

std::string Describe(const RoundRecord& record) {
  int64_t accepted = 0;
  for (const federation::Asked& asked : record.clients) {
    accepted += asked.state == federation::Asked::State::kAccepted ? 1 : 0;
  }
  std::string text = absl::StrFormat(
      "**** Round %d: %d of %s, %.2f s, sent %.2f MB, received %.2f MB", record.round, accepted,
      Counted(int64_t(record.clients.size()), "client"), record.seconds,
      double(record.bytes_sent) * 1e-6, double(record.bytes_received) * 1e-6);
  for (const auto& [name, value] : record.metrics) {
    absl::StrAppendFormat(&text, ", %s %.4f", name, value);
  }
  if (record.epsilons) {
    absl::StrAppendFormat(&text, ", epsilon %.3g, to the aggregator %.3g", record.epsilons->model,
                          record.epsilons->aggregator);
  }
  return text + "\n";
}

class Run {
 public:
  Run(const AggregatorFlags& flags, std::ostream& out, std::ostream& err)
      : flags_(flags), out_(out), err_(err) {}

  absl::Status operator()() {
    const Options& options = flags_.run;
    DTNN_RETURN_IF_ERROR(MakeNetwork());
    DTNN_ASSIGN_OR_RETURN(const federation::ModelFacts model, ModelFactsOf(*graph_, *store_));
    DTNN_RETURN_IF_ERROR(CheckProtection(flags_.run, model));
    DTNN_ASSIGN_OR_RETURN(Meeting meeting, FindMeeting(flags_.address, "--address",
                                                       options.ranks.transport, kAggregatorName));
    if (!meeting.warning.empty()) Warn(meeting.warning);
    DTNN_ASSIGN_OR_RETURN(
        const federation::Protector protector,
        federation::Protector::Create(ProtectionOf(options), size_t(model.values)));
    RoundState files(options.checkpoint.folder,
                     {.strategy = flags_.strategy,
                      .protection = protector.ToString(),
                      .is_private = protector.privacy().on()},
                     *graph_, *store_, *context_, uint64_t(options.training.seed));
    std::vector<std::string> warnings;
    DTNN_ASSIGN_OR_RETURN(FederationState state,
                          files.Begin(ResumptionOf(options.checkpoint.resume), warnings));
    for (const std::string& warning : warnings) Warn(warning);
    DTNN_ASSIGN_OR_RETURN(
        RoundFiles numbers,
        RoundFiles::Open(options.output.history, flags_.clients_file, state.rounds_done));
    if (!options.output.model.empty()) {
      DTNN_RETURN_IF_ERROR(WithContext(CheckWeightsOutput(options.output.model), "--save-model"));
    }
    RoundPage page(options.output.report, PageFacts(model), better_, flags_.rounds,
                   [this](std::string_view line) { Warn(line); });
    DTNN_RETURN_IF_ERROR(page.Check());
    out_ << "**** " << graph_->name() << ", samples of "
         << ToString(ExtentsOf(graph_->input_shape(), graph_->format())) << ", "
         << Counted(int64_t{classes_.outputs}, "output") << ", "
         << Counted(int64_t(model.values), "number") << ", "
         << Counted(flags_.rounds - state.rounds_done, "round") << " to do; waits for clients at "
         << meeting.place.address.ToString() << "\n"
         << std::flush;
    const Interrupt interrupt;
    AggregatorOptions aggregator = OptionsOf(std::move(meeting), model);
    federation::FederationState* const current = &state;
    const bool none_to_do = state.rounds_done >= flags_.rounds;
    aggregator.charged = [&](const FederationState& charged) { return files.SaveLedger(charged); };
    aggregator.round_done = [&](const RoundRecord& record, const FederationState&) {
      // In this order: resumed, these files drop a round that was not saved.
      DTNN_RETURN_IF_ERROR(numbers.Add(record));
      DTNN_RETURN_IF_ERROR(files.Save(*current));
      page.Add(numbers.history());
      // Before the last message, which slow clients delay.
      if (record.round == flags_.rounds) DTNN_RETURN_IF_ERROR(SaveLast(*current));
      out_ << Describe(record) << std::flush;
      return absl::OkStatus();
    };
    absl::Status status = federation::RunAggregator(aggregator, *secret_, state);
    page.Finish(status);
    if (absl::IsCancelled(status)) return Stopped(interrupt.signal(), state);
    if (absl::IsInvalidArgument(status)) return WithExitCode(status, kExitUsage);
    if (absl::IsUnavailable(status) && !options.checkpoint.folder.empty()) {
      return WithExitCode(WithContext(status, "--resume continues later"), kExitPeerLost);
    }
    DTNN_RETURN_IF_ERROR(status);
    return none_to_do ? SaveLast(state) : absl::OkStatus();
  }

 private:
  void Warn(std::string_view line) {
    err_ << StrCat("aggregator: warning: ", OneLine(line), "\n") << std::flush;
  }

  absl::Status MakeNetwork() {
    const Options& options = flags_.run;
    DTNN_ASSIGN_OR_RETURN(AveragedNetwork network, MakeAveragedNetwork(flags_));
    for (const std::string& name : network.metric_set.Names()) {
      const std::optional<Better> better = network.metric_set.FindBetter(name);
      if (!better) continue;
      better_.emplace_back(name, *better);
      better_.emplace_back("val_" + name, *better);
    }
    graph_.emplace(std::move(network.graph));
    classes_ = std::move(network.classes);
    DTNN_ASSIGN_OR_RETURN(context_, DeviceContext::Create(Device::Cpu()));
    DTNN_ASSIGN_OR_RETURN(store_, ParameterStore::Create(*graph_, *context_, DType::kFloat32,
                                                         uint64_t(options.training.seed)));
    if (options.network.weights.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const LoadedWeights loaded,
                          LoadWeights(options.network.weights, *graph_, *store_, *context_));
    for (const std::string& warning : loaded.warnings) Warn(warning);
    return absl::OkStatus();
  }

  ReportFacts PageFacts(const federation::ModelFacts& model) const {
    const Options& options = flags_.run;
    return {.network = StrCat(graph_->name(), ", by a federation"),
            .sentence =
                StrCat(graph_->name(), " (", Counted(int64_t(model.values), "number"),
                       ") is averaged over clients, at least ", flags_.min_clients, " a round, by ",
                       flags_.strategy, options.encryption.kind.empty() ? "" : ", with encryption ",
                       options.encryption.kind,
                       ". An epoch here is a round; metrics are the clients' own, weighted "
                       "with their samples.")};
  }

  AggregatorOptions OptionsOf(Meeting meeting, const federation::ModelFacts& model) {
    secret_.emplace(meeting.secret);
    const Options& options = flags_.run;
    return {.place = std::move(meeting.place),
            .model = model,
            .classes = classes_,
            .protection = ProtectionOf(options),
            .strategy = {.strategy = *federation::ParseStrategy(flags_.strategy),
                         .proximal = flags_.proximal_mu,
                         .learning_rate = flags_.server_learning_rate,
                         .momentum = flags_.server_momentum},
            .rounds = flags_.rounds,
            .min_clients = int(flags_.min_clients),
            .client_fraction = flags_.client_fraction,
            .deadline = Milliseconds(flags_.deadline),
            .timeout = Milliseconds(options.ranks.timeout),
            .max_update_norm = flags_.max_update_norm,
            .say = [this](std::string_view line) { out_ << "**** " << line << "\n"
                                                        << std::flush; },
            .warn = [this](std::string_view line) { Warn(line); },
            .interrupted = [] { return Interrupt::Last() != 0; }};
  }

  absl::Status Stopped(int signal, const FederationState& state) const {
    const bool saved = !flags_.run.checkpoint.folder.empty() && state.rounds_done > 0;
    return WithExitCode(absl::CancelledError(StrCat("stopped by ", SignalName(signal), " after ",
                                                    Counted(state.rounds_done, "round"),
                                                    saved ? "; --resume continues from here" : "")),
                        ExitCodeOfSignal(signal));
  }

  absl::Status SaveLast(const FederationState& state) {
    const std::string& path = flags_.run.output.model;
    if (state.from.encrypted) {
      out_ << "**** Only clients can read the model; they have it\n" << std::flush;
      return absl::OkStatus();
    }
    if (path.empty()) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(SaveWeights(path, *graph_, *store_, *context_));
    out_ << "**** Saved the weights as " << path << "\n" << std::flush;
    return absl::OkStatus();
  }

  AggregatorFlags flags_;  // with what follows from a saved model
  std::ostream &out_, &err_;
  std::optional<Graph> graph_;
  federation::Classes classes_;
  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<ParameterStore> store_;
  std::optional<JobSecret> secret_;
  BetterOfMetrics better_;
};

}  // namespace

absl::Status RunAggregator(const AggregatorFlags& flags, std::ostream& out, std::ostream& err) {
  return Run(flags, out, err)();
}

}  // namespace dtnn
