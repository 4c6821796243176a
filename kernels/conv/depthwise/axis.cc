#include "kernels/conv/depthwise/axis.h"

#include <algorithm>
#include <utility>

namespace dtnn::conv::depthwise {

Axis::Axis(std::vector<Phase> phases) : phases_(std::move(phases)) {
  bool any = false;
  for (Phase& phase : phases_) {
    results_ += phase.count;
    const int64_t reach = (phase.count - 1) * phase.in_step;
    std::erase_if(phase.taps, [&](const Phase::Tap& tap) {
      return tap.offset + reach < 0 || tap.offset >= phase.inputs;
    });
    for (const Phase::Tap& tap : phase.taps) {
      reach_.begin = any ? std::min(reach_.begin, tap.offset) : tap.offset;
      reach_.end = any ? std::max(reach_.end, tap.offset + 1) : tap.offset + 1;
      any = true;
    }
  }
}

Range Axis::Inputs(Range steps) const {
  if (reach_.size() == 0) return {};
  return {reach_.begin + steps.begin * in_step(), reach_.end + (steps.end - 1) * in_step()};
}

Range Axis::Results(Range steps) const {
  return {steps.begin * out_step(), std::min(steps.end * out_step(), results_)};
}

}  // namespace dtnn::conv::depthwise
