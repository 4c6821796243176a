// The geometry of a convolution along one axis, as a gather: which inputs a result sums.
//
// A result of y sums x at o * stride - padding + k * dilation. Read backwards, a result of dx sums
// dy at (i + padding - k * dilation) / stride for the taps k that make it whole: the results fall
// into `stride` phases, each with taps of its own. Within a phase the inputs of neighbouring
// results lie a constant step apart, so each phase is a convolution without strides. With a stride
// larger than the kernel most phases have no taps: these are not listed (untapped.h).

#ifndef DTNN_KERNELS_CONV_GEOMETRY_PHASES_H_
#define DTNN_KERNELS_CONV_GEOMETRY_PHASES_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"

namespace dtnn::conv {

// Results first, first + step, ...: the i-th of them sums, for each tap, the input at
// i * in_step + offset. Inputs outside [0, inputs) are zeros.
struct Phase {
  struct Tap {
    int64_t tap, offset;
  };

  int64_t first = 0, step = 1, count = 0;
  int64_t in_step = 1, inputs = 0;
  std::vector<Tap> taps;
  int64_t low = 0, high = 0;  // the smallest and the largest offset; 0 where there is no tap

  void SetTaps(std::vector<Tap> new_taps);  // and `low` and `high`
  // Inputs from the first to the last that `results` neighbouring results touch.
  int64_t Reach(int64_t results) const { return (results - 1) * in_step + high - low + 1; }
  // Whether no result touches the padding.
  bool inside() const { return low >= 0 && (count - 1) * in_step + high < inputs; }
  // Whether there are inputs between those of a result, or between the results', that none reads.
  bool has_holes() const {
    return !taps.empty() &&
           (int64_t(taps.size()) < high - low + 1 || (count > 1 && in_step > high - low + 1));
  }
  // The taps that some result reads inside of the inputs, by offset.
  std::vector<Tap> TapsInside() const;
  // The end of the results from number `result` on, at most `end`, that read the same taps inside
  // of the inputs.
  int64_t EndOfStretch(int64_t result, int64_t end) const;
};

// The phases of an axis that have taps, of which the first has the most results; where none has
// any, one without. Forward there is one, for kBackwardData at most as many as the stride or the
// kernel.
std::vector<Phase> VerticalPhases(const Conv2dSpec& spec, Direction direction);
std::vector<Phase> HorizontalPhases(const Conv2dSpec& spec, Direction direction);
// All results of an axis, also those in no phase.
int64_t VerticalResults(const Conv2dSpec& spec, Direction direction);
int64_t HorizontalResults(const Conv2dSpec& spec, Direction direction);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GEOMETRY_PHASES_H_
