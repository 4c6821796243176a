#include "data/loading/shuffle.h"

#include <array>
#include <cassert>
#include <utility>

namespace dtnn {

void Shuffle(const Philox& random, std::span<int64_t> values) {
  assert(values.size() <= uint64_t{1} << 32);
  std::array<uint32_t, 4> block = {};
  uint64_t held = ~uint64_t{0};  // the counter of `block`
  for (uint64_t i = values.size(); i-- > 1;) {
    if (held != i / 4) block = random.Block(held = i / 4);
    const uint64_t other = (block[i % 4] * (i + 1)) >> 32;
    std::swap(values[i], values[other]);
  }
}

}  // namespace dtnn
