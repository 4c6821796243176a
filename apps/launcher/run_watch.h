// Watches a run for its monitor (apps/monitor/monitor.h): a callback of the rank that coordinates.
// A step costs a lock and two additions: the monitor's thread holds the lock only to copy, and
// makes its texts afterwards.

#ifndef DTNN_APPS_LAUNCHER_RUN_WATCH_H_
#define DTNN_APPS_LAUNCHER_RUN_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "apps/monitor/histogram.h"
#include "apps/monitor/monitor.h"
#include "models/training/callback.h"
#include "tensor/stopwatch.h"

namespace dtnn {

class RunWatch : public Callback, public MonitorSource {
 public:
  static constexpr size_t kMostEpochs = 1000;  // in the status; the last ones

  // `hides_metrics`: losses and metrics are not reported, since the run's protection hides them.
  explicit RunWatch(bool hides_metrics = false) : hides_metrics_(hides_metrics) {}

  // A run begins, or its next generation of ranks; by every rank.
  void OnRanks(int ranks);

  absl::Status OnRoundBegin(int64_t round, int64_t rounds, int64_t epochs_done) override;
  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  std::string Metrics() const override;
  std::string Status() const override;

 private:
  static constexpr double kPassSeconds[] = {0.1, 1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600};

  struct Facts {
    const char* state = "begins";
    int ranks = 1;
    int64_t generations = 0;
    int64_t round = 0, rounds = 0;        // of a client of a federation
    int64_t epochs_done = 0, epochs = 0;  // of the round, where there is one
    int64_t steps = 0, samples = 0;       // of training, in this process
    NamedMetrics metrics = {};            // of each pass the last ones
    Histogram training{kPassSeconds}, evaluation{kPassSeconds};
  };
  Facts FactsNow() const;

  const bool hides_metrics_;
  mutable std::mutex mutex_;
  Facts facts_;
  std::deque<std::shared_ptr<const std::string>> epochs_;  // as JSON
  int64_t before_round_ = 0;                               // epochs
  int64_t pass_done_ = 0;                                  // samples of the pass that are counted
  std::optional<Stopwatch> pass_;                          // since it began
  double trained_ = 0;                                     // seconds of the last epoch's training
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_RUN_WATCH_H_
