// The main of tests of SIMD kernels: runs all tests once for every instruction set that the kernels
// are compiled for and this CPU has, so that those of older CPUs are tested on newer ones too.

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
// As in the kernels: what they are not compiled for is not run.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/highway.h"
#include "kernels/amx/amx.h"

namespace {

class TargetOfEachIteration : public ::testing::EmptyTestEventListener {
 public:
  explicit TargetOfEachIteration(std::vector<int64_t> targets) : targets_(std::move(targets)) {}

  void OnTestIterationStart(const ::testing::UnitTest&, int iteration) override {
    const int64_t target = targets_[size_t(iteration) % targets_.size()];
    hwy::GetChosenTarget().Update(target);
    // With the best alone; better ones have lower bits.
    dtnn::RestrictProducts(target > HWY_AVX3 ? dtnn::ProductLevel::kVectors
                                             : dtnn::ProductLevel::kTiles);
    std::printf("Instruction set: %s\n", hwy::TargetName(target));
    std::fflush(stdout);
  }

 private:
  const std::vector<int64_t> targets_;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  GTEST_FLAG_SET(repeat, GTEST_FLAG_GET(repeat) * int(targets.size()));
  ::testing::UnitTest::GetInstance()->listeners().Append(new TargetOfEachIteration(targets));
  return RUN_ALL_TESTS();
}
