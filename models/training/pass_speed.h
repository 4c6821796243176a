// How long a pass over data took, and how many samples it did in that time: of an epoch that an
// interrupted run had begun, only those since. For callbacks that tell it.

#ifndef DTNN_MODELS_TRAINING_PASS_SPEED_H_
#define DTNN_MODELS_TRAINING_PASS_SPEED_H_

#include <cstdint>
#include <optional>

#include "models/training/callback.h"
#include "tensor/stopwatch.h"

namespace dtnn {

class PassSpeed {
 public:
  // For OnPassBegin and OnPassEnd.
  void Begin(const Pass& pass) {
    watch_.emplace();
    done_before_ = pass.done;
  }
  void End(const Pass& pass) {
    if (!watch_) return;
    seconds_ = watch_->seconds();
    samples_ = pass.done - done_before_;
    watch_.reset();
  }

  // Seconds of the last pass that has ended.
  double seconds() const { return seconds_; }
  int64_t samples() const { return samples_; }
  double samples_per_second() const { return seconds_ > 0 ? double(samples_) / seconds_ : 0; }

 private:
  std::optional<Stopwatch> watch_;
  int64_t done_before_ = 0, samples_ = 0;
  double seconds_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_PASS_SPEED_H_
