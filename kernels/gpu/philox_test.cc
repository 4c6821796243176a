#include "kernels/gpu/philox.h"

#include "gtest/gtest.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

TEST(PhiloxGpuTest, SameNumbersAsOnTheHost) {
  for (uint64_t i = 0; i < 1000; ++i) {
    // Every half of every argument takes part.
    const uint64_t seed = i * 0x9E3779B97F4A7C15u, stream = ~i * 0xBF58476D1CE4E5B9u;
    const uint64_t counter = i * i * 0x94D049BB133111EBu;
    const std::array<uint32_t, 4> expected = Philox(seed, stream).Block(counter);
    const PhiloxBlock actual = PhiloxAt(seed, stream, counter);
    for (size_t word = 0; word < 4; ++word) ASSERT_EQ(actual.word[word], expected[word]) << i;
  }
}

}  // namespace
}  // namespace dtnn
