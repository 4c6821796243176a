// What a run tells of itself: output.profile and output.trace, and the profile that its page shows.
//
// The trace of all ranks is one file, which rank 0 writes when the run ends. Where ranks can no
// longer talk to each other, each writes what it has into a file of its own. A file that cannot be
// written is a warning: the run has done its work.

#ifndef DTNN_MODELS_RUN_OBSERVE_RUN_TRACE_H_
#define DTNN_MODELS_RUN_OBSERVE_RUN_TRACE_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "comm/clock_offset.h"
#include "comm/communicator.h"
#include "models/graph/graph.h"
#include "models/observe/energy/power_log.h"
#include "models/observe/trace/event_log.h"
#include "models/observe/trace/layer_facts.h"
#include "models/observe/trace/profile.h"
#include "models/observe/trace/profile_report.h"
#include "models/observe/trace/simple_trace.h"
#include "models/parameters/parameter_store.h"
#include "models/run/options/run_options.h"
#include "models/training/step/step_engine.h"
#include "tensor/trace/observer.h"
#include "tensor/trace/observer_list.h"

namespace dtnn {

// Where its messages go.
struct TraceLog {
  std::function<void(std::string_view text)> print;  // what was asked for: tables
  std::function<void(std::string_view text)> tell;   // what was done
  std::function<void(std::string_view line)> warn;
  std::function<void(std::string_view line)> warn_of_rank;  // of a file that only this rank knows
};

// How a run has ended.
struct TracedRun {
  bool together = true;              // ranks can still talk to each other
  std::optional<double> watts = {};  // mean power of training, where it is known
  const PowerLog* power = nullptr;   // what a power meter measured on rank 0
};

// Whether the table of sums says what a power meter measured meanwhile.
bool TracesPower(const RunOptions& options);

// Whether the files that this rank will write can be: a run of hours must not find out at its end.
absl::Status CheckTraceFiles(const RunOptions& options, int rank);

class RunTrace {
 public:
  // For one rank; `communicator`: null for a run of one. Both must outlive it, and it the loaders.
  RunTrace(const RunOptions& options, Communicator* communicator);

  // The profile of this rank's training, for its page, or null. Lives as long as this.
  const Profile* profile() const { return profile_.get(); }

  // Makes what Watch needs. All ranks call it together.
  absl::Status Begin(const Graph& graph, const ParameterStore& store);

  // Watches what the calling thread does, for as long as what is returned lives: a piece of the
  // run's work. Between two of them other runs may have the thread, or other threads this run.
  // Without something to watch for, and after Finish, the thread's observer stays.
  ScopedObserver Watch();

  // Writes and prints. `engine`: that has trained. Ranks that are together call it together; others
  // write for themselves.
  void Finish(const Graph& graph, const ParameterStore& store, const StepEngine& engine,
              const TracedRun& run, const TraceLog& log);

 private:
  bool profiles() const {
    return options_.output.profile.on() && rank_ == 0 && !options_.training.evaluate_only;
  }
  bool reports() const {
    return !options_.output.report.empty() && (rank_ == 0 || !options_.ranks.shared_storage) &&
           !options_.training.evaluate_only;
  }
  absl::Status WriteEvents(std::span<const LayerFacts> layers, bool together, const TraceLog& log);
  absl::Status WriteSimple(std::span<const LayerFacts> layers, const PowerLog* power,
                           const TraceLog& log);
  // As measured, but for what options say.
  PredictedMachine Predicted(const MachineSpeed& measured, double gradient_bytes) const;
  absl::Status WriteProfile(std::span<const LayerFacts> layers, DType dtype,
                            std::optional<double> watts, const TraceLog& log);

  const RunOptions& options_;
  Communicator* const communicator_;
  const int rank_;
  ClockOffset clock_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<SimpleTrace> simple_;
  std::unique_ptr<Profile> profile_;
  std::unique_ptr<ObserverList> all_;
  Observer* observer_ = nullptr;  // all of them
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBSERVE_RUN_TRACE_H_
