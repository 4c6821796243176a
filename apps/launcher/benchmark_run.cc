#include "apps/launcher/benchmark_run.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string_view>

#include "apps/flags/argument_flags.h"
#include "apps/launcher/run_watch.h"
#include "apps/monitor/monitor.h"
#include "apps/printing/log_callback.h"
#include "apps/printing/progress.h"
#include "apps/printing/progress_callback.h"
#include "apps/printing/run_lists.h"
#include "apps/program/log.h"
#include "comm/ranks/job/tell_once.h"
#include "models/run/execute_on_ranks.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

namespace {

// A client of a protected federation does not send its metrics as they are: they would reveal
// something of its data.
bool HidesMetrics(const Options& options) {
  if (options.ranks.parallel != Parallel::kFederated) return false;
  return !options.encryption.kind.empty() || options.federation.dp_clip > 0;
}

}  // namespace

absl::Status RunBenchmark(const Options& options, const LaunchPlace& place,
                          const std::function<absl::Status(double rate)>& on_learning_rate,
                          std::ostream& out, std::ostream& err) {
  const ProgressOptions progress = {
      .display = ChooseDisplay(options.progress, DetectDisplay(STDOUT_FILENO, place.launched)),
      .epochs = options.progress != "none"};
  const RunSinks sinks = {
      .print = [&out](std::string_view text) { out << NameFlags(text) << std::flush; },
      .warn =
          [&err](std::string_view line) {
            err << StrCat("benchmark: warning: ", NameFlags(line), "\n") << std::flush;
          }};
  std::optional<ProgressCallback> shown;
  std::optional<LogCallback> logged;
  RunWatch watch(HidesMetrics(options) && options.monitor.token_file.empty());
  std::unique_ptr<Monitor> monitor;
  // The monitor begins when the ranks have met: the secret of their job leaves the environment
  // before there are threads, and which rank is 0 may change. An elastic rank that joins may find
  // the port in use by the first one of this host.
  if (place.rank == 0) {
    const absl::Status monitored =
        Monitor::Check(options.monitor, /*listens=*/options.ranks.elastic.empty());
    if (!monitored.ok()) return TellOnce(monitored, place, "benchmark", out, err);
  }
  const auto begin_monitor = [&] {
    if (monitor != nullptr) return;
    absl::StatusOr<std::unique_ptr<Monitor>> started = Monitor::Start(options.monitor, watch);
    if (!started.ok()) return sinks.warn(std::string(started.status().message()));
    monitor = *std::move(started);
    out << StrCat("**** Metrics at ", monitor->url(), "\n") << std::flush;
  };
  const auto objects = [&](const Communicator* communicator) {
    RunObjects run = {.sinks = sinks,
                      .listing = ListingOf(options),
                      .on_learning_rate = on_learning_rate,
                      .stop_on_signal = true};
    // Without a communicator, elastic ranks only save what was kept.
    const bool trains = communicator != nullptr || options.ranks.elastic.empty();
    const bool monitored = options.monitor.port.has_value() && trains;
    if (monitored) watch.OnRanks(communicator == nullptr ? 1 : communicator->size());
    if (communicator != nullptr && communicator->rank() > 0) {
      monitor.reset();  // another rank is the first one now
      return run;
    }
    if (monitored) {
      begin_monitor();
      run.callbacks.push_back(&watch);
    }
    if (LogsJson(out)) {
      run.callbacks.push_back(&logged.emplace(progress.epochs, out));
    } else {
      run.callbacks.push_back(&shown.emplace(progress, out));
    }
    return run;
  };
  return ExecuteOnRanks(options,
                        {.name = "benchmark",
                         .objects = objects,
                         .reword = [](const absl::Status& error) { return NameFlags(error); }},
                        out, err);
}

}  // namespace dtnn
