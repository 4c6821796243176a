#include "kernels/conv/i2c/patches.h"

#include <algorithm>

namespace dtnn::conv::i2c {

TapMap::TapMap(const std::vector<Phase>& phases, int64_t outputs, int64_t taps)
    : inputs_(phases.front().inputs), taps_(taps), index_(size_t(outputs * taps), -1) {
  for (const Phase& phase : phases) {
    for (int64_t i = 0; i < phase.count; ++i) {
      int32_t* const index = index_.data() + (phase.first + i * phase.step) * taps;
      for (const Phase::Tap& tap : phase.taps) {
        const int64_t input = i * phase.in_step + tap.offset;
        if (input >= 0 && input < inputs_) index[tap.tap] = int32_t(input);
      }
    }
  }
}

Gather Gather::Of(const Conv2dSpec& spec, Direction direction) {
  const bool backward = direction == Direction::kBackwardData;
  return {.vertical = TapMap(VerticalPhases(spec, direction), VerticalResults(spec, direction),
                             spec.kernel.vertical),
          .horizontal = TapMap(HorizontalPhases(spec, direction),
                               HorizontalResults(spec, direction), spec.kernel.horizontal),
          .depth = backward ? spec.filters : spec.channels,
          .out_channels = backward ? spec.channels : spec.filters};
}

template <typename T>
void CopyPatch(const Gather& gather, const Images<const T>& in, int64_t image, int64_t row,
               int64_t column, T* patch) {
  const int32_t* rows = gather.vertical.of(row);
  const int32_t* columns = gather.horizontal.of(column);
  const int64_t kh = gather.vertical.taps(), kw = gather.horizontal.taps(), depth = gather.depth;
  // Neighbouring taps that are neighbouring pixels are one run of memory.
  const bool run = in.pixel == depth && columns[0] >= 0 && columns[kw - 1] == columns[0] + kw - 1;
  for (int64_t a = 0; a < kh; ++a, patch += kw * depth) {
    if (rows[a] < 0) {
      std::fill_n(patch, kw * depth, T(0));
      continue;
    }
    const T* line = in.At(image, rows[a]);
    if (run) {
      const T* from = line + columns[0] * depth;
      for (int64_t j = 0; j < kw * depth; ++j) patch[j] = from[j];
      continue;
    }
    for (int64_t b = 0; b < kw; ++b) {
      T* to = patch + b * depth;
      if (columns[b] < 0) {
        for (int64_t j = 0; j < depth; ++j) to[j] = 0;
      } else {
        const T* from = line + columns[b] * in.pixel;
        for (int64_t j = 0; j < depth; ++j) to[j] = from[j];
      }
    }
  }
}

template void CopyPatch(const Gather&, const Images<const float>&, int64_t, int64_t, int64_t,
                        float*);
template void CopyPatch(const Gather&, const Images<const double>&, int64_t, int64_t, int64_t,
                        double*);

}  // namespace dtnn::conv::i2c
