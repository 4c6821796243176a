#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/shuffle.h"
#include "tensor/philox.h"

namespace dtnn {

std::vector<int64_t> AllIndices(int64_t n) {
  std::vector<int64_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

absl::StatusOr<Split> SplitIndices(int64_t n, double fraction, uint64_t seed) {
  if (n < 0 || n > int64_t{1} << 32) {
    return absl::InvalidArgumentError(
        absl::StrCat("a data set of ", n, " samples cannot be split: expected 0 to 2^32"));
  }
  if (!(fraction >= 0 && fraction < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the fraction of the samples held out for validation must be in [0, 1), not ", fraction));
  }
  constexpr double kRounding = 1 + 2 * std::numeric_limits<double>::epsilon();
  const int64_t held_out = std::min(n, int64_t(std::floor(double(n) * fraction * kRounding)));

  std::vector<int64_t> order = AllIndices(n);
  if (held_out > 0) Shuffle(Philox(seed, StreamId(RandomPurpose::kSplit)), order);
  Split split;
  split.validation.assign(order.begin(), order.begin() + held_out);
  split.train.assign(order.begin() + held_out, order.end());
  std::sort(split.validation.begin(), split.validation.end());
  std::sort(split.train.begin(), split.train.end());
  return split;
}

}  // namespace dtnn
