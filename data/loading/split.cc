#include "data/loading/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "data/loading/shuffle.h"
#include "tensor/errors.h"
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

// n * fraction, where rounding alone does not cost a sample.
double Share(int64_t n, double fraction) {
  constexpr double kRounding = 1 + 2 * std::numeric_limits<double>::epsilon();
  return std::floor(double(n) * fraction * kRounding);
}

// How many samples of each class are held out of `held_out`.
std::vector<int64_t> Quotas(std::span<const int32_t> labels, int64_t held_out) {
  std::vector<int64_t> quotas(size_t(*std::ranges::max_element(labels)) + 1);
  for (const int32_t label : labels) ++quotas[size_t(label)];
  const uint64_t n = labels.size();
  std::vector<std::pair<uint64_t, size_t>> remainders;
  int64_t left = held_out;
  for (size_t i = 0; i < quotas.size(); ++i) {
    const uint64_t share = uint64_t(quotas[i]) * uint64_t(held_out);  // n is 2^32 at most
    quotas[i] = int64_t(share / n);
    left -= quotas[i];
    remainders.emplace_back(n - share % n, i);
  }
  std::ranges::sort(remainders);
  for (size_t i = 0; i < size_t(left); ++i) ++quotas[remainders[i].second];
  return quotas;
}

// Moves the first samples of each class, as many as are held out, to the front.
void Stratify(std::span<const int32_t> labels, int64_t held_out, std::vector<int64_t>& order) {
  std::vector<int64_t> quotas = Quotas(labels, held_out), first, rest;
  for (const int64_t i : order) {
    (quotas[size_t(labels[size_t(i)])]-- > 0 ? first : rest).push_back(i);
  }
  order = std::move(first);
  order.insert(order.end(), rest.begin(), rest.end());
}

// Where in the list each group begins.
std::vector<int64_t> PlacesOf(std::span<const int64_t> groups,
                              const std::vector<int64_t>& indices) {
  std::vector<int64_t> places;
  for (const int64_t begin : groups) {
    places.push_back(std::lower_bound(indices.begin(), indices.end(), begin) - indices.begin());
  }
  if (!places.empty()) places[0] = 0;
  return places;
}

}  // namespace

absl::StatusOr<TrainValidation> SplitIndices(int64_t n, double fraction, uint64_t seed,
                                             std::span<const int64_t> groups,
                                             std::span<const int32_t> labels) {
  if (n < 0 || n > int64_t{1} << 32) {
    return InvalidArgument("a data set of ", n, " samples cannot be split: expected 0 to 2^32");
  }
  if (!(fraction >= 0 && fraction < 1)) {
    return InvalidArgument(
        "the fraction of the samples held out for validation must be in [0, 1), not ", fraction);
  }
  const int64_t held_out = std::min(n, int64_t(Share(n, fraction)));

  if (!groups.empty() &&
      (groups.front() != 0 || groups.back() > n || !std::is_sorted(groups.begin(), groups.end()))) {
    return absl::InvalidArgumentError("the first samples of the groups must ascend from 0");
  }
  const bool fits = int64_t(labels.size()) == n && groups.empty();
  if (!labels.empty() && (!fits || std::ranges::any_of(labels, [](int32_t i) { return i < 0; }))) {
    return absl::InvalidArgumentError("the labels must be one class per sample, without groups");
  }
  const Philox random(seed, StreamId(RandomPurpose::kSplit));
  std::vector<int64_t> order = groups.empty() ? AllIndices(n) : ShuffledGroups(n, groups, random);
  if (held_out > 0 && groups.empty()) Shuffle(random, order);
  if (held_out > 0 && !labels.empty()) Stratify(labels, held_out, order);
  TrainValidation divided;
  divided.validation.assign(order.begin(), order.begin() + held_out);
  divided.train.assign(order.begin() + held_out, order.end());
  std::sort(divided.validation.begin(), divided.validation.end());
  std::sort(divided.train.begin(), divided.train.end());
  return divided;
}

absl::StatusOr<std::vector<int64_t>> TakeFraction(const std::vector<int64_t>& indices,
                                                  double fraction, uint64_t seed,
                                                  std::span<const int64_t> groups) {
  const int64_t n = int64_t(indices.size());
  if (fraction == 0 || n == 0) return indices;
  const double wanted = Share(n, fraction);
  if (!(fraction > 0 && wanted <= double(int64_t{1} << 32))) {
    return InvalidArgument(
        "the fraction of the samples that are used must be 0 (all) or more, and make ",
        "no more than 2^32 samples; not ", fraction, " of ", n);
  }
  if (wanted < 1) {
    return InvalidArgument("a share of ", fraction, " leaves none of ", n, " samples");
  }
  std::vector<int64_t> taken;
  taken.reserve(size_t(wanted));
  const int64_t rest = int64_t(wanted) % n;
  for (int64_t copy = 0; copy < int64_t(wanted) / n; ++copy) {
    taken.insert(taken.end(), indices.begin(), indices.end());
  }
  if (rest == 0) return taken;
  // A stream of its own: the split's would make the two choices depend on each other.
  const Philox random(seed, StreamId(RandomPurpose::kSplit, 1));
  std::vector<int64_t> places =
      groups.empty() ? AllIndices(n) : ShuffledGroups(n, PlacesOf(groups, indices), random);
  if (groups.empty()) Shuffle(random, places);
  places.resize(size_t(rest));
  std::sort(places.begin(), places.end());
  for (const int64_t place : places) taken.push_back(indices[size_t(place)]);
  return taken;
}

}  // namespace dtnn
