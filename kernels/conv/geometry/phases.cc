#include "kernels/conv/geometry/phases.h"

#include <algorithm>
#include <utility>

#include "tensor/rounding.h"

namespace dtnn::conv {
namespace {

std::vector<Phase> Phases(Direction direction, int64_t x, int64_t y, int64_t kernel, int64_t stride,
                          int64_t padding, int64_t dilation) {
  std::vector<Phase> phases;
  if (direction != Direction::kBackwardData) {
    std::vector<Phase::Tap> taps;
    for (int64_t k = 0; k < kernel; ++k) taps.push_back({k, k * dilation - padding});
    Phase phase;
    phase.count = y, phase.in_step = stride, phase.inputs = x;
    phase.SetTaps(std::move(taps));
    phases.push_back(std::move(phase));
    return phases;
  }
  for (int64_t first = 0; first < std::min(stride, x); ++first) {
    std::vector<Phase::Tap> taps;
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t strided = first + padding - k * dilation;
      if (strided % stride == 0) taps.push_back({k, strided / stride});
    }
    if (taps.empty()) continue;
    Phase phase;
    phase.first = first, phase.step = stride, phase.inputs = y;
    phase.count = CeilDiv(x - first, stride);
    phase.SetTaps(std::move(taps));
    phases.push_back(std::move(phase));
  }
  if (phases.empty()) {
    Phase phase;
    phase.step = stride, phase.inputs = y;
    phase.count = CeilDiv(x, stride);
    phases.push_back(phase);
  }
  return phases;
}

}  // namespace

void Phase::SetTaps(std::vector<Tap> new_taps) {
  taps = std::move(new_taps);
  low = high = 0;
  if (taps.empty()) return;
  const auto [first, last] = std::ranges::minmax(taps, {}, &Tap::offset);
  low = first.offset;
  high = last.offset;
}

std::vector<Phase::Tap> Phase::TapsInside() const {
  std::vector<Tap> inside;
  for (const Tap& tap : taps) {
    // The first result that reads an input at or after the first one.
    const int64_t result = CeilDiv(std::max<int64_t>(0, -tap.offset), in_step);
    if (result < count && result * in_step + tap.offset < inputs) inside.push_back(tap);
  }
  std::ranges::sort(inside, {}, &Tap::offset);
  return inside;
}

int64_t Phase::EndOfStretch(int64_t result, int64_t end) const {
  for (const Tap& tap : taps) {
    // The first result that reads an input at or after the first one, and after the last one.
    const int64_t begins = CeilDiv(std::max<int64_t>(0, -tap.offset), in_step);
    const int64_t ends = CeilDiv(std::max<int64_t>(0, inputs - tap.offset), in_step);
    for (const int64_t edge : {begins, ends}) {
      if (edge > result) end = std::min(end, edge);
    }
  }
  return end;
}

std::vector<Phase> VerticalPhases(const Conv2dSpec& s, Direction direction) {
  return Phases(direction, s.height, s.out_height(), s.kernel.vertical, s.stride.vertical,
                s.padding.vertical, s.dilation.vertical);
}

std::vector<Phase> HorizontalPhases(const Conv2dSpec& s, Direction direction) {
  return Phases(direction, s.width, s.out_width(), s.kernel.horizontal, s.stride.horizontal,
                s.padding.horizontal, s.dilation.horizontal);
}

int64_t VerticalResults(const Conv2dSpec& s, Direction direction) {
  return direction == Direction::kBackwardData ? s.height : s.out_height();
}

int64_t HorizontalResults(const Conv2dSpec& s, Direction direction) {
  return direction == Direction::kBackwardData ? s.width : s.out_width();
}

}  // namespace dtnn::conv
