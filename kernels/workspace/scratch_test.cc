#include "kernels/workspace/scratch.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ScratchDividerTest, ArraysDoNotOverlapAndAreAligned) {
  alignas(64) std::byte memory[256];
  ScratchDivider scratch(memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(scratch.Take<float>(17)), memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(scratch.Take<double>(8)), memory + 128);
  EXPECT_EQ(scratch.bytes(), 192);
}

TEST(ScratchDividerTest, WithoutMemoryItCountsBytes) {
  ScratchDivider scratch(nullptr);
  EXPECT_EQ(scratch.Take<float>(1), nullptr);
  EXPECT_EQ(scratch.Take<float>(1), nullptr);
  EXPECT_EQ(scratch.bytes(), 128);
}

}  // namespace
}  // namespace dtnn
