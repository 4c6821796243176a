#include <cassert>

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

}  // namespace
}  // namespace dtnn
