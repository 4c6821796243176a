// Logs the epochs and tests of a run as objects with fields, in place of progress lines, for
// --log-format=json (apps/program/log.h):
//
//   "message": "Epoch 2/5", "epoch": 2, "epochs": 5, "step": 750, "samples": 24000,
//   "seconds": 1.7, "loss": 0.21, "metrics": {"categorical_cross_entropy": 0.21, ...}
//
// "step" counts the updates of the whole run, "round" stands there in a federation.

#ifndef DTNN_APPS_PRINTING_LOG_CALLBACK_H_
#define DTNN_APPS_PRINTING_LOG_CALLBACK_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "apps/program/log.h"
#include "models/training/callback.h"
#include "tensor/stopwatch.h"

namespace dtnn {

class LogCallback : public Callback {
 public:
  // `epochs`: else only tests. The stream outlives it.
  LogCallback(bool epochs, std::ostream& out) : epochs_(epochs), out_(out) {}

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;
  absl::Status OnRoundBegin(int64_t round, int64_t rounds, int64_t epochs_done) override;

 private:
  std::vector<LogField> FieldsOf(const Pass& pass, double seconds,
                                 const NamedMetrics& metrics) const;

  const bool epochs_;
  std::ostream& out_;
  std::optional<int64_t> round_;
  int64_t before_round_ = 0;  // epochs
  std::optional<Stopwatch> training_, test_;
  double trained_ = 0;  // seconds of the training, without its validation
};

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_LOG_CALLBACK_H_
