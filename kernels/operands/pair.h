// A (vertical, horizontal) pair: kernel extents, strides, paddings, dilations.

#ifndef DTNN_KERNELS_OPERANDS_PAIR_H_
#define DTNN_KERNELS_OPERANDS_PAIR_H_

#include <cstdint>

namespace dtnn {

struct Pair {
  int64_t vertical = 1, horizontal = 1;
  constexpr Pair() = default;
  constexpr Pair(int64_t both) : vertical(both), horizontal(both) {}  // NOLINT: a pair of equals
  constexpr Pair(int64_t v, int64_t h) : vertical(v), horizontal(h) {}
  friend bool operator==(const Pair&, const Pair&) = default;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_OPERANDS_PAIR_H_
