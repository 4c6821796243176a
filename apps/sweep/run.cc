#include "apps/sweep/run.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/options_file/options_file.h"
#include "apps/sweep/child.h"
#include "apps/sweep/table.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "models/observe/report/charts/page.h"
#include "models/observe/report/comparison.h"
#include "models/observe/report/read_run.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/output_file.h"
#include "tensor/stopwatch.h"
#include "tensor/text/counted.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = 1 << 20;  // of a file of options

// Runs at the same time cannot share a port.
absl::Status CheckPorts(const SweepOptions& options, const std::vector<GridRun>& grid) {
  if (options.jobs == 1) return absl::OkStatus();
  std::set<int64_t> ports;
  for (const GridRun& run : grid) {
    const int64_t port = run.options.monitor.port.value_or(0);
    if (port == 0 || ports.insert(port).second) continue;
    return UsageError("--metrics-port=", port, ": ", options.jobs,
                      " runs at a time cannot have the same port; give metrics-port: 0 in ",
                      options.options, ", and each takes a free one, or --jobs=1");
  }
  return absl::OkStatus();
}

std::string PageOf(const SweepOptions& options) { return options.folder + "/sweep.html"; }

class Runner {
 public:
  Runner(const SweepOptions& options, const std::vector<GridRun>& grid, std::ostream& out)
      : options_(options),
        grid_(grid),
        out_(out),
        threads_(options.jobs > 1 ? std::max(1, NumThreads() / int(options.jobs)) : 0) {}

  // That no folder holds a run with other options, and that the page can be written; makes the
  // folder of all.
  absl::Status Check() const {
    for (size_t run = 0; run < grid_.size(); ++run) {
      DTNN_RETURN_IF_ERROR(HasItsOptions(run).status());
    }
    std::error_code ignored;  // the page says what is wrong
    std::filesystem::create_directory(options_.folder, ignored);
    return CheckOutputFile(PageOf(options_), "a report", IsPage);
  }

  // All runs to their ends.
  absl::Status Run() {
    while (true) {
      while (Interrupt::Last() == 0 && next_ < grid_.size() &&
             running_.size() < size_t(options_.jobs)) {
        const size_t run = next_++;
        if (const absl::Status begun = Begin(run); !begun.ok()) {
          Say(run, StrCat("cannot begin: ", begun.message()));
          failed_.push_back(grid_[run].name);
        }
      }
      if (running_.empty()) return Result();
      if (Interrupt::Last() != 0 && !told_) Tell();
      if (const std::optional<EndedChild> ended = AwaitChild()) End(*ended);
    }
  }

 private:
  struct Running {
    size_t run;
    Stopwatch stopwatch;
  };

  std::string In(size_t run, std::string_view file) const {
    return StrCat(options_.folder, "/", grid_[run].name, "/", file);
  }

  void Say(size_t run, const std::string& what) {
    out_ << StrCat("[", run + 1, "/", grid_.size(), "] ", grid_[run].name, ": ", what, "\n")
         << std::flush;
  }

  // Whether its folder has its options already; an error where it has others.
  absl::StatusOr<bool> HasItsOptions(size_t run) const {
    const std::string path = In(run, kOptionsFile), text = FormatOptions(grid_[run].options);
    const auto before = ReadFile(path, kMostBytes);
    if (absl::IsNotFound(before.status())) return false;
    DTNN_RETURN_IF_ERROR(before.status());
    const std::string_view old(reinterpret_cast<const char*>(before->data()), before->size());
    // The first line names the version.
    const auto options_in = [](std::string_view file) {
      return file.substr(std::min(file.find('\n'), file.size()));
    };
    if (options_in(old) == options_in(text)) return true;
    return FailedPrecondition(path,
                              ": a run with other options is there; give another --folder, or "
                              "delete that one");
  }

  absl::Status SaveOptions(size_t run) const {
    DTNN_ASSIGN_OR_RETURN(const bool there, HasItsOptions(run));
    if (there) return absl::OkStatus();
    std::error_code ignored;  // writing the file says what is wrong
    std::filesystem::create_directory(StrCat(options_.folder, "/", grid_[run].name), ignored);
    const std::string text = FormatOptions(grid_[run].options);
    return WriteFileAtomically(In(run, kOptionsFile), std::as_bytes(std::span(text)));
  }

  absl::Status Begin(size_t run) {
    DTNN_RETURN_IF_ERROR(SaveOptions(run));
    std::error_code ignored;
    if (std::filesystem::exists(In(run, kModelFile), ignored)) {
      Say(run, "is done already");
      return absl::OkStatus();
    }
    for (const std::string& warning : grid_[run].warnings) Say(run, "warning: " + warning);
    std::vector<std::string> command = {options_.program, "--options=" + In(run, kOptionsFile)};
    command.insert(command.end(), grid_[run].own.begin(), grid_[run].own.end());
    DTNN_ASSIGN_OR_RETURN(const pid_t pid, StartChild(command, In(run, kLogFile), threads_));
    running_.emplace(pid, Running{run, Stopwatch()});
    Say(run, "begins");
    return absl::OkStatus();
  }

  void End(const EndedChild& ended) {
    const auto found = running_.find(ended.pid);
    if (found == running_.end()) return;
    const auto& [run, stopwatch] = found->second;
    if (Interrupt::Last() != 0 && ended.exit_code > 128) {
      Say(run, "stopped");
    } else if (std::error_code ignored;
               ended.exit_code == 0 && !std::filesystem::exists(In(run, kModelFile), ignored)) {
      Say(run, StrCat("ended without a model; see ", In(run, kLogFile)));
      failed_.push_back(grid_[run].name);
    } else if (ended.exit_code == 0) {
      Say(run, absl::StrFormat("done in %.1f s", stopwatch.seconds()));
    } else {
      Say(run, StrCat("ended with exit code ", ended.exit_code, "; see ", In(run, kLogFile)));
      failed_.push_back(grid_[run].name);
    }
    running_.erase(found);
  }

  void Tell() {
    told_ = true;
    out_ << StrCat("sweep: ", SignalName(Interrupt::Last()), ": waits for ",
                   Counted(int64_t(running_.size()), "run"), " to write a checkpoint\n")
         << std::flush;
    // A terminal sends it to all; others, to this process alone.
    for (const auto& [pid, running] : running_) kill(pid, SIGTERM);
  }

  absl::Status Result() const {
    if (const int signal = Interrupt::Last()) {
      return WithExitCode(
          Unavailable("stopped by ", SignalName(signal), "; the same command continues from here"),
          ExitCodeOfSignal(signal));
    }
    if (failed_.empty()) return absl::OkStatus();
    return FailedPrecondition(failed_.size(), " of ", Counted(int64_t(grid_.size()), "run"),
                              " failed: ", absl::StrJoin(failed_, "; "));
  }

  const SweepOptions& options_;
  const std::vector<GridRun>& grid_;
  std::ostream& out_;
  const int threads_;  // of each; 0: as the environment says
  size_t next_ = 0;
  bool told_ = false;
  std::map<pid_t, Running> running_;
  std::vector<std::string> failed_;
};

absl::Status Compare(const SweepOptions& options, const std::vector<GridRun>& grid,
                     std::ostream& out) {
  std::vector<SweptRun> runs;
  for (const GridRun& point : grid) {
    const std::string folder = StrCat(options.folder, "/", point.name);
    absl::StatusOr<ComparedRun> run = ReadRun(folder, kHistoryFile);
    // It has failed, or was stopped, before its first epoch ended.
    if (absl::IsNotFound(run.status()) || (run.ok() && run->epochs.empty())) continue;
    if (!run.ok()) {
      out << StrCat(point.name, ": cannot be compared: ", run.status().message(), "\n");
      continue;
    }
    run->name = point.name;
    runs.push_back({point.values, *std::move(run)});
  }
  if (runs.empty()) return absl::OkStatus();
  SortByLoss(runs);
  std::vector<ComparedRun> compared;
  for (const SweptRun& run : runs) compared.push_back(run.run);
  const std::string page = FormatComparison(compared), path = PageOf(options);
  DTNN_RETURN_IF_ERROR(WriteFileAtomically(path, std::as_bytes(std::span(page))));
  std::vector<std::string> names;
  for (const GridAxis& axis : options.grid) names.push_back(axis.name);
  out << "\n" << FormatTable(names, runs) << "\nCurves: " << path << "\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status Sweep(const SweepOptions& options, std::ostream& out) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> base, ReadOptionsFile(options.options));
  DTNN_ASSIGN_OR_RETURN(const std::vector<GridRun> grid,
                        MakeGrid(base, options.grid, options.folder));
  DTNN_RETURN_IF_ERROR(CheckPorts(options, grid));
  const Interrupt interrupt;
  signal(SIGCHLD, SIG_DFL);  // ignored, no process that has ended could be waited for
  Runner runner(options, grid, out);
  DTNN_RETURN_IF_ERROR(runner.Check());
  const absl::Status ran = runner.Run();
  const absl::Status compared = Compare(options, grid, out);
  return ran.ok() ? compared : ran;
}

}  // namespace dtnn
