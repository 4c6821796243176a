#include "kernels/conv/depthwise/axis.h"

#include <algorithm>
#include <utility>

namespace dtnn::conv::depthwise {

std::vector<Stretch> Stretches(const Phase& phase) {
  std::vector<Stretch> stretches;
  const int64_t count = int64_t(phase.taps.size());
  for (int64_t i = 0; i < phase.count; ++i) {
    const auto exists = [&](int64_t tap) {
      const int64_t input = i * phase.in_step + phase.taps[size_t(tap)].offset;
      return input >= 0 && input < phase.inputs;
    };
    Range taps = {0, count};
    while (taps.size() > 0 && !exists(taps.begin)) ++taps.begin;
    while (taps.size() > 0 && !exists(taps.end - 1)) --taps.end;
    if (stretches.empty() || stretches.back().taps != taps) stretches.push_back({{i, i}, taps});
    stretches.back().steps.end = i + 1;
  }
  return stretches;
}

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
