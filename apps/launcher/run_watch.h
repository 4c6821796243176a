// Watches a run for its monitor (apps/monitor/monitor.h): a callback of the rank that coordinates.
// A step costs a lock and two additions; metrics of a running pass are taken once a second.

#ifndef DTNN_APPS_LAUNCHER_RUN_WATCH_H_
#define DTNN_APPS_LAUNCHER_RUN_WATCH_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "apps/monitor/histogram.h"
#include "apps/monitor/monitor.h"
#include "models/training/callback.h"

namespace dtnn {

class RunWatch : public Callback, public MonitorSource {
 public:
  static constexpr size_t kMostEpochs = 1000;  // in the status; the last ones

  // A run begins, or its next generation of ranks.
  void OnRanks(int ranks);

  absl::Status OnRoundBegin(int64_t round, int64_t rounds, int64_t epochs_done) override;
  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  std::string Metrics() const override;
  std::string Status() const override;

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr double kPassSeconds[] = {0.1, 1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600};

  struct Epoch {
    int64_t epoch = 0;
    double seconds = 0;  // of training
    NamedMetrics metrics = {};
  };

  static double SecondsSince(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }

  mutable std::mutex mutex_;
  const char* state_ = "begins";
  int ranks_ = 1;
  int64_t generations_ = 0;
  int64_t round_ = 0, rounds_ = 0;  // of a client of a federation
  int64_t epochs_done_ = 0, epochs_ = 0;
  int64_t steps_ = 0, samples_ = 0;  // of training, in this process
  int64_t pass_done_ = 0;            // samples of the pass that are counted
  double samples_per_second_ = 0;    // of the last second of training
  NamedMetrics metrics_ = {};        // the newest of each name
  Histogram training_{kPassSeconds}, evaluation_{kPassSeconds};
  std::vector<Epoch> last_epochs_ = {};
  // When the pass that runs, and the measurement of its speed, began.
  Clock::time_point pass_began_{}, measured_{};
  int64_t measured_samples_ = 0;
  double trained_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_RUN_WATCH_H_
