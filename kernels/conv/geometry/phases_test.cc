#include "kernels/conv/geometry/phases.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn::conv {
namespace {

// (result, tap, input) of all products along the vertical axis.
using Products = std::set<std::tuple<int64_t, int64_t, int64_t>>;

// By the definition: input = output * stride - padding + tap * dilation.
Products Expected(const Conv2dSpec& s, Direction direction) {
  Products products;
  for (int64_t o = 0; o < s.out_height(); ++o) {
    for (int64_t k = 0; k < s.kernel.vertical; ++k) {
      const int64_t i = o * s.stride.vertical - s.padding.vertical + k * s.dilation.vertical;
      if (i < 0 || i >= s.height) continue;
      direction == Direction::kBackwardData ? products.insert({i, k, o})
                                            : products.insert({o, k, i});
    }
  }
  return products;
}

TEST(PhasesTest, HaveEveryProductOnce) {
  for (const int64_t height : {1, 2, 5, 8, 13}) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2, 3, 4}) {
        for (const int64_t padding : {0, 1, 4}) {
          for (const int64_t dilation : {1, 2, 3}) {
            Conv2dSpec spec;
            spec.batch = spec.width = spec.channels = spec.filters = 1;
            spec.height = height;
            spec.kernel = Pair(kernel, 1), spec.stride = Pair(stride, 1);
            spec.padding = Pair(padding, 0), spec.dilation = Pair(dilation, 1);
            if (!spec.Validate().ok()) continue;
            for (const Direction direction : {Direction::kForward, Direction::kBackwardData}) {
              SCOPED_TRACE(spec.ToString());
              Products products;
              std::set<int64_t> results;
              const std::vector<Phase> phases = VerticalPhases(spec, direction);
              for (const Phase& phase : phases) {
                EXPECT_TRUE(phases.size() == 1 || !phase.taps.empty());
                EXPECT_LE(phase.count, phases.front().count);
                bool inside = true;
                std::set<int64_t> read;
                for (int64_t i = 0; i < phase.count; ++i) {
                  EXPECT_TRUE(results.insert(phase.first + i * phase.step).second);
                  for (const Phase::Tap& tap : phase.taps) {
                    EXPECT_TRUE(tap.offset >= phase.low && tap.offset <= phase.high);
                    const int64_t input = i * phase.in_step + tap.offset;
                    inside = inside && input >= 0 && input < phase.inputs;
                    if (input < 0 || input >= phase.inputs) continue;
                    read.insert(tap.tap);
                    products.insert({phase.first + i * phase.step, tap.tap, input});
                  }
                }
                if (!phase.taps.empty()) {
                  EXPECT_EQ(phase.inside(), inside);
                }
                const std::vector<Phase::Tap> taps = phase.TapsInside();
                std::set<int64_t> of_taps;
                for (const Phase::Tap& tap : taps) of_taps.insert(tap.tap);
                EXPECT_EQ(of_taps, read);
                EXPECT_TRUE(std::ranges::is_sorted(taps, {}, &Phase::Tap::offset));
              }
              EXPECT_EQ(products, Expected(spec, direction));
              if (direction == Direction::kForward) {
                EXPECT_EQ(int64_t(results.size()), spec.out_height());
              }
              EXPECT_LT(*results.rbegin(), VerticalResults(spec, direction));
            }
          }
        }
      }
    }
  }
}

// A stretch ends where the taps inside change, and nowhere else.
TEST(PhasesTest, StretchesHaveTheSameTapsInside) {
  Conv2dSpec spec;
  spec.batch = spec.width = spec.channels = spec.filters = 1;
  for (const int64_t height : {1, 9, 24}) {
    for (const int64_t stride : {1, 2, 5}) {
      for (const int64_t dilation : {1, 4, 11}) {
        spec.height = height, spec.stride = Pair(stride, 1), spec.dilation = Pair(dilation, 1);
        spec.kernel = Pair(3, 1), spec.padding = Pair(dilation, 0);
        for (const Direction direction : {Direction::kForward, Direction::kBackwardData}) {
          SCOPED_TRACE(spec.ToString());
          for (const Phase& phase : VerticalPhases(spec, direction)) {
            const auto inside = [&](int64_t i) {
              std::vector<bool> taps;
              for (const Phase::Tap& tap : phase.taps) {
                const int64_t input = i * phase.in_step + tap.offset;
                taps.push_back(input >= 0 && input < phase.inputs);
              }
              return taps;
            };
            for (int64_t i = 0; i < phase.count; ++i) {
              int64_t end = i + 1;
              while (end < phase.count && inside(end) == inside(i)) ++end;
              EXPECT_EQ(phase.EndOfStretch(i, phase.count), end) << i;
              EXPECT_EQ(phase.EndOfStretch(i, i + 1), i + 1);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtnn::conv
