#include "models/run/observe/run_trace.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "comm/ranks/gradients/cost_model.h"
#include "kernels/peak/peak.h"
#include "models/observe/trace/chrome_trace.h"
#include "models/observe/trace/gather_events.h"
#include "models/observe/trace/paraver.h"
#include "models/observe/trace/trace_form.h"
#include "models/observe/trace/trace_output.h"
#include "models/run/parts/make_trainer_options.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/counted.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

absl::Status WriteText(const std::string& path, std::string_view text) {
  return WriteFileAtomically(path, std::as_bytes(std::span(text)));
}

MeasuredEnergy EnergyColumns(const PowerLog& power) {
  return {.lines = power.lines(),
          .of = [&power](int64_t begin, int64_t end,
                         std::span<double> joules) -> std::optional<int64_t> {
            const SpanEnergy energy = power.EnergyOf(begin, end);
            if (energy.joules.empty()) return std::nullopt;
            std::ranges::copy(energy.joules, joules.begin());
            return energy.samples;
          }};
}

}  // namespace

bool TracesPower(const RunOptions& options) {
  return options.output.energy && !options.output.pmlib.device.empty() &&
         !options.output.trace.empty() && TraceFormOf(options.output.trace) == TraceForm::kSimple;
}

absl::Status CheckTraceFiles(const RunOptions& options, int rank) {
  const std::string& output = options.output.trace;
  if (!output.empty() && (rank == 0 || NamesRank(output))) {
    DTNN_RETURN_IF_ERROR(
        WithContext(CheckTraceOutput(NumberedFile(output, rank), TracesPower(options) && rank == 0),
                    "RunOptions::output.trace"));
  }
  if (rank != 0 || options.output.profile.file.empty()) return absl::OkStatus();
  return WithContext(CheckProfileOutput(options.output.profile.file), "RunOptions::output.profile");
}

RunTrace::RunTrace(const RunOptions& options, Communicator* communicator)
    : options_(options),
      communicator_(communicator),
      rank_(communicator == nullptr ? 0 : communicator->rank()) {}

absl::Status RunTrace::Begin(const Graph& graph, const ParameterStore& store) {
  std::vector<Observer*> observers;
  if (!options_.output.trace.empty() && TraceFormOf(options_.output.trace) != TraceForm::kSimple) {
    if (communicator_ != nullptr) {
      DTNN_RETURN_IF_ERROR(clock_.Measure(*communicator_, TraceClock));
    }
    log_ = std::make_unique<EventLog>();
    observers.push_back(log_.get());
  } else if (!options_.output.trace.empty() && (rank_ == 0 || NamesRank(options_.output.trace))) {
    simple_ = std::make_unique<SimpleTrace>(
        DescribeLayers(graph, store), SimpleTraceOptions{.keep_begins = TracesPower(options_)});
    observers.push_back(simple_.get());
  }
  if (profiles() || reports()) {
    int ids = 0;
    for (const Node& node : graph.nodes()) ids = std::max(ids, node.id + 1);
    profile_ = std::make_unique<Profile>(ids);
    observers.push_back(profile_.get());
  }
  if (observers.empty()) return absl::OkStatus();
  if (observers.size() > 1) all_ = std::make_unique<ObserverList>(observers);
  observer_ = all_ == nullptr ? observers[0] : all_.get();
  return absl::OkStatus();
}

ScopedObserver RunTrace::Watch() {
  if (observer_ == nullptr) return ScopedObserver(CurrentObserver());
  if (simple_ != nullptr) simple_->CountThisThread();
  if (profile_ != nullptr) profile_->CountThisThread();
  return ScopedObserver(observer_);
}

void RunTrace::Finish(const Graph& graph, const ParameterStore& store, const StepEngine& engine,
                      const TracedRun& run, const TraceLog& log) {
  observer_ = nullptr;
  if (log_ == nullptr && simple_ == nullptr && profile_ == nullptr) return;
  const std::vector<std::string> algorithms = engine.TrainingAlgorithms();
  const std::vector<LayerMemory> memory = engine.TrainingMemoryByLayer();
  const std::vector<LayerFacts> layers =
      DescribeLayers(graph, store, {.algorithms = algorithms, .memory = memory});
  const auto check = [](const auto& warn, const absl::Status& status, std::string_view what) {
    if (!status.ok()) warn(StrCat("the ", what, " is not written: ", status.message()));
  };
  if (log_ != nullptr) {
    check(run.together ? log.warn : log.warn_of_rank, WriteEvents(layers, run.together, log),
          "trace");
  }
  if (simple_ != nullptr) check(log.warn_of_rank, WriteSimple(layers, run.power, log), "trace");
  if (profiles() && profile_ != nullptr) {
    check(log.warn, WriteProfile(layers, store.dtype(), run.watts, log), "profile");
  }
}

absl::Status RunTrace::WriteEvents(std::span<const LayerFacts> layers, bool together,
                                   const TraceLog& log) {
  Communicator* const others = together ? communicator_ : nullptr;
  const bool alone = communicator_ != nullptr && others == nullptr;
  const std::string path = alone ? FileOfRank(options_.output.trace, rank_) : options_.output.trace;
  if (alone) DTNN_RETURN_IF_ERROR(CheckTraceOutput(path));  // a name that was not asked for
  if (others != nullptr) DTNN_RETURN_IF_ERROR(clock_.Measure(*others, TraceClock));
  const bool for_paraver = TraceFormOf(path) == TraceForm::kParaver;
  std::optional<ChromeTraceWriter> chrome;
  std::optional<ParaverWriter> paraver;
  const auto write = [&](const RankEvents& rank) {
    if (!paraver) return chrome->Add(rank);
    paraver->Add(rank);
    return absl::OkStatus();
  };
  int64_t events = 0, dropped = 0;
  DTNN_RETURN_IF_ERROR(GatherEvents(*log_, others, clock_,
                                    {.begin = [&](int64_t origin) -> absl::Status {
                                       if (for_paraver) {
                                         paraver.emplace(path, origin, layers);
                                       } else {
                                         DTNN_ASSIGN_OR_RETURN(
                                             ChromeTraceWriter created,
                                             ChromeTraceWriter::Create(path, origin, layers));
                                         chrome.emplace(std::move(created));
                                       }
                                       return absl::OkStatus();
                                     },
                                     .take =
                                         [&](const RankEvents& rank) {
                                           events += int64_t(rank.events.size());
                                           dropped += rank.dropped;
                                           if (!alone) return write(rank);
                                           RankEvents mine = rank;
                                           mine.rank = rank_;
                                           return write(mine);
                                         }}));
  if (!chrome && !paraver) return absl::OkStatus();  // rank 0 has written
  DTNN_RETURN_IF_ERROR(paraver ? paraver->Finish(std::time(nullptr)) : chrome->Finish());
  log.tell(StrCat("**** Wrote ", Counted(events, "event"), " to ", path, "; open it in ",
                  for_paraver ? "Paraver" : "ui.perfetto.dev or chrome://tracing", "\n"));
  if (dropped > 0) {
    log.warn(StrCat("RunOptions::output.trace: ", path, " has the first ", EventLog::kMostEvents,
                    " events of a rank; ", Counted(dropped, "later event"),
                    " did not fit; trace fewer steps (RunOptions::training.steps_per_epoch, "
                    "RunOptions::training.epochs)"));
  }
  return absl::OkStatus();
}

absl::Status RunTrace::WriteSimple(std::span<const LayerFacts> layers, const PowerLog* power,
                                   const TraceLog& log) {
  const std::string path = NumberedFile(options_.output.trace, rank_);
  log.tell(StrCat("Writing simple tracer output to '", path, "'...\n"));
  const bool measured = rank_ == 0 && power != nullptr && !power->empty();
  const MeasuredEnergy energy = measured ? EnergyColumns(*power) : MeasuredEnergy();
  DTNN_RETURN_IF_ERROR(WriteText(path, simple_->Text(layers, measured ? &energy : nullptr)));
  if (measured) {
    const std::string watts = StrCat(path, ".watts");
    log.tell(StrCat("Writing watts output to '", watts, "'...\n"));
    DTNN_RETURN_IF_ERROR(WriteText(watts, power->Text()));
    if (power->dropped() > 0) {
      log.warn(StrCat("RunOptions::output.trace: ", watts, " has the first ",
                      PowerLog::kMostSamples, " samples of power; ", power->dropped(),
                      " later ones did not fit, and calls "
                      "of that time have no joules"));
    }
  }
  if (simple_->dropped() > 0) {
    log.warn(StrCat("RunOptions::output.trace: the medians in ", path, " are those of the first ",
                    simple_->most_times(), " calls; calls and total times are of all"));
  }
  return absl::OkStatus();
}

PredictedMachine RunTrace::Predicted(const MachineSpeed& measured, double gradient_bytes) const {
  PredictedMachine machine = {.speed = measured,
                              .updates_per_step = 1 / double(options_.training.accumulate_steps)};
  if (options_.prediction.cpu_speed > 0) machine.speed.flops = options_.prediction.cpu_speed;
  if (options_.prediction.memory_bandwidth > 0)
    machine.speed.bytes = options_.prediction.memory_bandwidth;
  if (communicator_ == nullptr || !options_.sync.model_steps.sums_gradients()) return machine;
  // As if each rank were alone on its node. A sum reads two numbers and writes one.
  const Cluster cluster = {
      .ranks = communicator_->size(),
      .network = {.latency = options_.prediction.network_latency,
                  .seconds_per_byte = 1 / options_.prediction.network_bandwidth},
      .seconds_per_byte_added = 3 / machine.speed.bytes};
  const LinkCost cost = options_.prediction.network_algorithm == "bta"
                            ? TreeAllReduceCost(cluster)
                            : AllReduceCost(AllReduceAlgorithm::kHalvingDoubling, cluster);
  machine.exchange = cost.Seconds(gradient_bytes);
  return machine;
}

absl::Status RunTrace::WriteProfile(std::span<const LayerFacts> layers, DType dtype,
                                    std::optional<double> watts, const TraceLog& log) {
  double gradients = 0;
  for (const LayerFacts& layer : layers) {
    gradients += double(layer.last_gradient - layer.first_gradient);
  }
  const int threads = NumThreads();
  const MachineSpeed measured = {.flops = MeasureFmaPeakGflops(threads, dtype) * 1e9,
                                 .bytes = MeasureCopyBandwidth(threads) * 1e9};
  const ProfileReport report = MakeReport(
      *profile_, layers, measured, Predicted(measured, ExchangedBytes(options_, gradients)), watts);
  const ProfileOptions& profile = options_.output.profile;
  if (profile.print) log.print(FormatReport(report));
  if (profile.file.empty()) return absl::OkStatus();
  const bool json = ProfileFormOf(profile.file) == ProfileForm::kJson;
  DTNN_RETURN_IF_ERROR(WriteText(profile.file, json ? ReportJson(report) : ReportCsv(report)));
  log.tell(StrCat("**** Wrote the profile to ", profile.file, "\n"));
  return absl::OkStatus();
}

}  // namespace dtnn
