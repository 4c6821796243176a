#include "data/loading/part.h"

#include <algorithm>

#include "data/loading/shuffle.h"
#include "data/loading/split.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

// A stream of its own: stream 0 holds samples out, 1 takes a fraction of them (split.cc). Choices
// of one stream would depend on each other at one seed.
constexpr uint64_t kStream = 2;

}  // namespace

std::vector<int64_t> PartOfSamples(int64_t n, int64_t part, int64_t parts) {
  std::vector<int64_t> order = AllIndices(n);
  if (parts == 1) return order;
  Shuffle(Philox(/*seed=*/0, StreamId(RandomPurpose::kSplit, kStream)), order);
  // n (part - 1) / parts without a product that may overflow.
  const auto begin = [n, parts](int64_t part) {
    return n / parts * part + n % parts * part / parts;
  };
  std::vector<int64_t> mine(order.begin() + begin(part - 1), order.begin() + begin(part));
  std::ranges::sort(mine);
  return mine;
}

}  // namespace dtnn
