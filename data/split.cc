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

namespace {

// 0 .. n-1, group by group in random order.
std::vector<int64_t> ShuffledGroups(int64_t n, std::span<const int64_t> groups,
                                    const Philox& random) {
  std::vector<int64_t> order = AllIndices(int64_t(groups.size()));
  Shuffle(random, order);
  std::vector<int64_t> indices;
  indices.reserve(size_t(n));
  for (const int64_t group : order) {
    const int64_t end = size_t(group) + 1 < groups.size() ? groups[size_t(group) + 1] : n;
    for (int64_t i = groups[size_t(group)]; i < end; ++i) indices.push_back(i);
  }
  return indices;
}

}  // namespace

absl::StatusOr<Split> SplitIndices(int64_t n, double fraction, uint64_t seed,
                                   std::span<const int64_t> groups) {
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

  if (!groups.empty() &&
      (groups.front() != 0 || groups.back() > n || !std::is_sorted(groups.begin(), groups.end()))) {
    return absl::InvalidArgumentError("the groups of samples must begin ascending from 0");
  }
  const Philox random(seed, StreamId(RandomPurpose::kSplit));
  std::vector<int64_t> order = groups.empty() ? AllIndices(n) : ShuffledGroups(n, groups, random);
  if (held_out > 0 && groups.empty()) Shuffle(random, order);
  Split split;
  split.validation.assign(order.begin(), order.begin() + held_out);
  split.train.assign(order.begin() + held_out, order.end());
  std::sort(split.validation.begin(), split.validation.end());
  std::sort(split.train.begin(), split.train.end());
  return split;
}

}  // namespace dtnn
