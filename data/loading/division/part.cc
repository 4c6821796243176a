#include "data/loading/division/part.h"

#include <algorithm>

#include "data/loading/shuffle.h"
#include "data/loading/split.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

// A stream of its own: stream 0 holds samples out, 1 takes a fraction of them (split.cc). Choices
// of one stream would depend on each other at one seed.
constexpr uint64_t kStream = 2;

std::vector<int64_t> Order(int64_t n, int64_t parts) {
  std::vector<int64_t> order = AllIndices(n);
  if (parts > 1) Shuffle(Philox(/*seed=*/0, StreamId(RandomPurpose::kSplit, kStream)), order);
  return order;
}

std::vector<int64_t> PartOf(const std::vector<int64_t>& order, int64_t part, int64_t parts) {
  const auto n = int64_t(order.size());
  // n (part - 1) / parts without a product that may overflow.
  const auto begin = [n, parts](int64_t part) {
    return n / parts * part + n % parts * part / parts;
  };
  std::vector<int64_t> mine(order.begin() + begin(part - 1), order.begin() + begin(part));
  std::ranges::sort(mine);
  return mine;
}

}  // namespace

std::vector<int64_t> PartOfSamples(int64_t n, int64_t part, int64_t parts) {
  return PartOf(Order(n, parts), part, parts);
}

std::vector<std::vector<int64_t>> PartsOfSamples(int64_t n, int64_t parts) {
  const std::vector<int64_t> order = Order(n, parts);
  std::vector<std::vector<int64_t>> all;
  for (int64_t part = 1; part <= parts; ++part) all.push_back(PartOf(order, part, parts));
  return all;
}

}  // namespace dtnn
