// What the batches of a run took: time and samples of each, and the memory of the process after it.
//
// The time is that of the steps alone, without waiting for data. An estimate leaves out what only
// the first batches of an epoch pay for: the time of the second half of its batches, times all
// batches over those of the half. Ranks do not wait for each other in the steps of a test; so that
// the samples of all of them count, its time is that until the last one is done. Batches of
// validation count neither as training nor as testing.

#ifndef DTNN_MODELS_RUN_TABLES_PERFORMANCE_COUNTER_H_
#define DTNN_MODELS_RUN_TABLES_PERFORMANCE_COUNTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/training/callback.h"

namespace dtnn {

class PerformanceCounter : public Callback {
 public:
  struct Meters {
    std::function<double()> seconds;  // never backwards
    std::function<double()> mebibytes;
  };

  PerformanceCounter();  // of the clock, and of the most memory that the process has had so far
  explicit PerformanceCounter(Meters meters);

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;

  // The metrics of training under one title and those of testing under another; nothing without
  // batches.
  std::string Report() const;

 private:
  struct Totals {
    int64_t passes = 0, batches = 0, samples = 0;
    double seconds = 0;
    double estimate = 0;  // of the seconds, from the last half of each pass
    double most_memory = 0, memory_sum = 0;
  };

  Totals* TotalsOf(const Pass& pass);

  const Meters meters_;
  Totals training_, testing_;
  std::vector<double> seconds_;  // of each batch of the pass that is under way
  double begin_ = 0, end_ = 0;   // of its batch
  int64_t done_ = 0;             // of its samples
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_TABLES_PERFORMANCE_COUNTER_H_
