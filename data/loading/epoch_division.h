// How the samples of an epoch divide into steps, as numbers alone: step b takes the next
// `batch` * `ranks` samples, the last step the rest; a rest of fewer than ranks joins the step
// before (sampler.h). An epoch that is continued in its middle skips its first samples, and
// its steps are those of the rest. These numbers say which samples a step had, for instance to the
// reader of a checkpoint.

#ifndef DTNN_DATA_LOADING_EPOCH_DIVISION_H_
#define DTNN_DATA_LOADING_EPOCH_DIVISION_H_

#include <cstdint>

namespace dtnn {

struct EpochDivision {
  int64_t samples = 0;  // of the epoch, over all ranks
  int64_t batch = 1;    // samples per rank in a full step, at least 1
  int64_t ranks = 1;    // at least 1
  int64_t first = 0;    // samples skipped, 0 to `samples`

  // Samples of a full step; INT64_MAX where their number does not fit.
  int64_t step_samples() const {
    int64_t product;
    return __builtin_mul_overflow(batch, ranks, &product) ? INT64_MAX : product;
  }
  // Whether the samples that are left are none, or enough for each rank to have one.
  bool divides() const { return samples == first || samples - first >= ranks; }
  int64_t steps() const {
    const int64_t left = samples - first, step = step_samples();
    return left / step + (left % step >= ranks ? 1 : 0);
  }
  // Samples of the epoch before a step (0 to steps()), those left out included; from steps() on all
  // of them.
  int64_t SamplesBefore(int64_t step) const {
    return step < steps() ? first + step * step_samples() : samples;
  }
};

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_EPOCH_DIVISION_H_
