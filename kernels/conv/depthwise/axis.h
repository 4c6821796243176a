// Rows or columns of a depthwise convolution, as the phases of ../geometry/phases.h, which are
// divided together: step i is the i-th result of every phase.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_AXIS_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_AXIS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/conv/depthwise/depthwise_cpu.h"
#include "kernels/conv/geometry/phases.h"

namespace dtnn::conv::depthwise {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Neighbouring steps of a phase that have the same taps inside the inputs.
struct Stretch {
  Range steps;
  Range taps;  // of the phase's list
};
std::vector<Stretch> Stretches(const Phase& phase);

class Axis {
 public:
  // `results`: also those that are in no phase.
  Axis(std::vector<Phase> phases, int64_t results);

  // Without the taps that meet nothing but padding; the distances between taps are constant.
  const std::vector<Phase>& phases() const { return phases_; }
  int64_t inputs() const { return phases_.front().inputs; }
  int64_t results() const { return results_; }
  int64_t steps() const { return phases_.front().count; }
  // From one step to the next.
  int64_t in_step() const { return phases_.front().in_step; }
  int64_t out_step() const { return phases_.front().step; }
  // The inputs that some steps read, which may lie outside of the axis.
  Range Inputs(Range steps) const;

 private:
  std::vector<Phase> phases_;
  int64_t results_;
  Range reach_ = {};  // of step 0
};

// How all results of an axis slide over its inputs.
struct Sliding {
  Window window = kStep1;
  int64_t first = 0;              // the input that the first tap of result 0 reads
  int64_t tap = 0, tap_step = 1;  // the place of the first tap in the kernel; to the next one
};
// None where the inputs of a result are not neighbours, or there are too many of them.
std::optional<Sliding> SlidingOf(const Axis& axis);

// From one tap of a phase to the next: of the inputs, and of the elements of the kernel.
inline Phase::Tap TapStep(const Phase& phase) {
  if (phase.taps.size() < 2) return {0, 0};
  const Phase::Tap &first = phase.taps[0], &second = phase.taps[1];
  return {second.tap - first.tap, second.offset - first.offset};
}

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_AXIS_H_
