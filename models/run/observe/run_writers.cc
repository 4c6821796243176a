#include "models/run/observe/run_writers.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "models/callbacks/history_form.h"
#include "models/observe/energy/energy_source.h"
#include "models/observe/energy/pmlib.h"
#include "models/observe/report/read_history.h"
#include "models/run/observe/run_board.h"
#include "models/run/observe/run_page.h"
#include "models/run/observe/run_trace.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

absl::StatusOr<std::unique_ptr<EnergySource>> OpenEnergySource(const RunOptions& options,
                                                               PowerLog& power) {
  if (options.output.pmlib.device.empty()) return FindEnergySource();
  return OpenPmlib(
      {.server = {.host = options.output.pmlib.server, .port = uint16_t(options.output.pmlib.port)},
       .device = options.output.pmlib.device,
       .keep = TracesPower(options) ? &power : nullptr});
}

// The epochs that a resumed run has behind it, where its history names their metrics.
std::vector<ReportEpoch> EarlierEpochs(const RunOptions& options, int64_t epochs_done,
                                       const std::function<void(std::string_view line)>& warn) {
  const std::string& path = options.output.history;
  if (epochs_done == 0 || path.empty() || HistoryFormOf(path) == HistoryForm::kText) return {};
  absl::StatusOr<RunHistory> run = ReadHistory(path);
  if (!run.ok()) {
    warn(StrCat("RunOptions::output.report: begins with epoch ", epochs_done + 1, ": ",
                run.status().message()));
    return {};
  }
  std::erase_if(run->epochs, [&](const ReportEpoch& epoch) { return epoch.epoch > epochs_done; });
  return std::move(run->epochs);
}

}  // namespace

absl::Status RunWriters::MakeMeter(const RunOptions& options, Communicator* communicator,
                                   const std::function<void(std::string_view line)>& warn) {
  // A power meter has a name, and rank 0 asks for it; counters are those of each machine.
  bool reads = communicator == nullptr || communicator->rank() == 0;
  if (communicator != nullptr && options.output.pmlib.device.empty()) {
    DTNN_ASSIGN_OR_RETURN(reads, FirstOnItsHost(*communicator));
  }
  EnergyMeterOptions meter = {.expected = reads, .communicator = communicator, .warn = warn};
  if (reads) {
    auto source = OpenEnergySource(options, power_);
    if (!source.ok()) warn(StrCat("RunOptions::output.energy: ", source.status().message()));
    if (source.ok()) meter.source = *std::move(source);
  }
  energy_.emplace(std::move(meter));
  return absl::OkStatus();
}

absl::Status RunWriters::Make(const RunSubject& run, Communicator* communicator, bool writes,
                              const Profile* profile, const Trainer& trainer,
                              const ParameterStore& store, DeviceContext& context,
                              const std::function<void(std::string_view line)>& warn) {
  if (run.options.output.energy) DTNN_RETURN_IF_ERROR(MakeMeter(run.options, communicator, warn));
  if (!run.options.output.report.empty() && communicator != nullptr) {
    waits_.emplace(trainer, *communicator);
    confusion_.emplace(communicator, run.graph.format());
  }
  if (!writes) return absl::OkStatus();
  std::function<std::optional<double>()> joules, watts;
  if (energy_) {
    joules = [this] { return energy_->epoch_joules(); };
    watts = [this] { return energy_->watts(); };
  }
  if (!run.options.output.report.empty()) {
    ReportWriterOptions options = MakeReportOptions(run);
    options.profile = profile;
    options.earlier = EarlierEpochs(run.options, trainer.epochs_done(), warn);
    options.warn = warn;
    options.joules = joules;
    options.watts = watts;
    if (waits_) options.ranks = &*waits_;
    if (confusion_) options.confusion = &*confusion_;
    report_.emplace(std::move(options), trainer, run.graph, store);
  }
  if (run.options.output.tensorboard.empty()) return absl::OkStatus();
  TensorboardOptions options = MakeTensorboardOptions(run);
  options.joules = joules;
  options.warn = warn;
  DTNN_ASSIGN_OR_RETURN(
      board_, TensorboardWriter::Create(std::move(options), trainer, run.graph, store, context));
  return absl::OkStatus();
}

std::vector<Callback*> RunWriters::callbacks() {
  std::vector<Callback*> callbacks;
  if (energy_) callbacks.push_back(&*energy_);
  if (waits_) callbacks.push_back(&*waits_);
  if (confusion_) callbacks.push_back(&*confusion_);
  if (report_) callbacks.push_back(&*report_);
  if (board_ != nullptr) callbacks.push_back(board_.get());
  return callbacks;
}

absl::Status RunWriters::SetTest(const MetricAverages& averages) {
  if (report_) report_->SetTest(averages.Values());
  return board_ == nullptr ? absl::OkStatus() : board_->AddTest(averages.Values("test_"));
}

void RunWriters::Finish(const absl::Status& status) {
  if (report_) report_->Finish(status);
}

}  // namespace dtnn
