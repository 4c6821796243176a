#include "kernels/conv/amx/pack_filter.h"

#include <algorithm>
#include <cstring>

#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {

void PackFilter(const TilePlan& plan, const Filter<const Bfloat16>& filter, Bfloat16* derived) {
  const int64_t depth_step = plan.backward() ? filter.filter : filter.channel;
  const int64_t out_step = plan.backward() ? filter.channel : filter.filter;
  for (const TilePlan::Part& part : plan.parts()) {
    const Depth& depth = part.depth;
    const auto runs = int64_t(part.runs.size());
    const int64_t run_elements = depth.steps * depth.step * 16;
    ParallelFor(0, plan.panels() * runs, 1 + 8192 / run_elements, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t panel = item / runs,
                      out_channels = std::min<int64_t>(16, plan.out_channels() - panel * 16);
        const TilePlan::TapRun& run = part.runs[size_t(item % runs)];
        Bfloat16* to = derived + part.derived + item * run_elements;
        // Rows of pairs: an element of the depth and the next one, of each output channel.
        for (int64_t k = 0; k < depth.steps * depth.step; k += 2, to += 32) {
          const int64_t tap = run.tap + k / depth.channels * part.tap_step;
          const int64_t channel = k % depth.channels;  // even, as the channels are
          const Bfloat16* const from =
              filter.data + tap * filter.tap + channel * depth_step + panel * 16 * out_step;
          const int64_t there = std::min<int64_t>(plan.depth() - channel, 2);
          if (there == 2 && out_channels == 16 && out_step == 1) {
            for (int64_t j = 0; j < 16; ++j) {
              to[2 * j] = from[j];
              to[2 * j + 1] = from[depth_step + j];
            }
          } else if (there == 2 && out_channels == 16 && depth_step == 1) {
            for (int64_t j = 0; j < 16; ++j) {
              std::memcpy(to + 2 * j, from + j * out_step, 2 * sizeof(Bfloat16));
            }
          } else {
            for (int64_t j = 0; j < 16; ++j) {
              for (int64_t e = 0; e < 2; ++e) {
                to[2 * j + e] = j < out_channels && e < there ? from[j * out_step + e * depth_step]
                                                              : Bfloat16(0);
              }
            }
          }
        }
      }
    });
  }
}

}  // namespace dtnn::conv::amx
