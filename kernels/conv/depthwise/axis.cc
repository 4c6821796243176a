#include "kernels/conv/depthwise/axis.h"

#include <algorithm>
#include <cstdlib>
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

Axis::Axis(std::vector<Phase> phases, int64_t results)
    : phases_(std::move(phases)), results_(results) {
  bool any = false;
  for (Phase& phase : phases_) {
    const int64_t reach = (phase.count - 1) * phase.in_step;
    std::vector<Phase::Tap> taps = phase.taps;
    std::erase_if(taps, [&](const Phase::Tap& tap) {
      return tap.offset + reach < 0 || tap.offset >= phase.inputs;
    });
    phase.SetTaps(std::move(taps));
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

std::optional<Sliding> SlidingOf(const Axis& axis) {
  const std::vector<Phase>& phases = axis.phases();
  const auto is = [](const Phase& phase, std::vector<Phase::Tap> taps) {
    return std::ranges::equal(phase.taps, taps, [](const Phase::Tap& a, const Phase::Tap& b) {
      return a.tap == b.tap && a.offset == b.offset;
    });
  };
  if (phases.size() == 2 && axis.out_step() == 2 && axis.in_step() == 1 &&
      is(phases[0], {{1, 0}}) && (is(phases[1], {{0, 1}, {2, 0}}) || is(phases[1], {{2, 0}}))) {
    return Sliding{.window = kSpread};
  }
  const Phase& phase = phases.front();
  const auto taps = int64_t(phase.taps.size());
  const Phase::Tap step = TapStep(phase);
  if (phases.size() != 1 || phase.step != 1 || phase.in_step > 2 ||
      (taps != kTaps && taps != kMoreTaps) || std::abs(step.offset) != 1 ||
      phase.low < -(taps / 2) ||
      (phase.count - 1) * phase.in_step + phase.high >= phase.inputs + taps / 2) {
    return std::nullopt;
  }
  const Window windows[2][2] = {{kStep1, kStep2}, {kMoreStep1, kMoreStep2}};
  return Sliding{.window = windows[taps == kMoreTaps][phase.in_step - 1],
                 .first = phase.low,
                 .tap = step.offset > 0 ? phase.taps.front().tap : phase.taps.back().tap,
                 .tap_step = step.tap * step.offset};
}

}  // namespace dtnn::conv::depthwise
