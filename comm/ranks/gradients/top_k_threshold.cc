#include "comm/ranks/gradients/top_k_threshold.h"

#include <algorithm>
#include <vector>

namespace dtnn {
namespace {

// The highest place from which on the counts add up to `k`, and what lies above it.
struct Place {
  size_t at = 0;
  int64_t above = 0;
};

Place PlaceOf(const std::vector<int64_t>& counts, int64_t k) {
  Place place = {.at = counts.size() - 1};
  while (place.at > 0 && place.above + counts[place.at] < k) place.above += counts[place.at--];
  return place;
}

}  // namespace

// By the upper half of the bits, then by the lower one among those with the same upper half.
uint32_t TopKThreshold(std::span<const float> numbers, int64_t k) {
  if (k >= int64_t(numbers.size())) return 1;
  std::vector<int64_t> counts(size_t{1} << 15);
  for (const float x : numbers) ++counts[Magnitude(x) >> 16];
  const Place upper = PlaceOf(counts, k);
  counts.assign(size_t{1} << 16, 0);
  for (const float x : numbers) {
    const uint32_t magnitude = Magnitude(x);
    if (magnitude >> 16 == upper.at) ++counts[magnitude & 0xffff];
  }
  const Place lower = PlaceOf(counts, k - upper.above);
  return std::max(uint32_t{1}, uint32_t(upper.at << 16 | lower.at));
}

}  // namespace dtnn
