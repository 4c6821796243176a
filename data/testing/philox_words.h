// Words for Poisson sampling that are a function of a seed.

#ifndef DTNN_DATA_TESTING_PHILOX_WORDS_H_
#define DTNN_DATA_TESTING_PHILOX_WORDS_H_

#include <cstdint>

#include "data/loading/poisson_steps.h"
#include "tensor/philox.h"

namespace dtnn::testing {

inline RandomWords PhiloxWords(uint64_t seed) {
  return [random = Philox(seed, 1), next = uint64_t{0}](std::span<uint64_t> words) mutable {
    for (uint64_t& word : words) {
      word = random.Bits(next) | uint64_t{random.Bits(next + 1)} << 32;
      next += 2;
    }
  };
}

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_PHILOX_WORDS_H_
