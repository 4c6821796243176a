#include <cassert>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// SANITIZER is defined where .bazelrc's --config=asan, ubsan or tsan is in force.
TEST(AssertionsTest, HoldWhereASanitizerRuns) {
#ifdef SANITIZER
  EXPECT_DEATH(assert(1 + 1 == 3), "1 \\+ 1 == 3");
#else
  GTEST_SKIP() << "assertions are compiled out without a sanitizer";
#endif
}

// The element stands in the block that the vector has reserved: no sanitizer of memory would see
// it.
TEST(AssertionsTest, OfTheStandardLibraryHoldWhereASanitizerRuns) {
#ifdef SANITIZER
  std::vector<int> values(2);
  values.reserve(8);
  volatile size_t index = 3;
  EXPECT_DEATH(values[index] = 1, "__n < this->size\\(\\)");
#else
  GTEST_SKIP() << "assertions are compiled out without a sanitizer";
#endif
}

}  // namespace
}  // namespace dtnn
