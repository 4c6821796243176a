#include "tools/testing/fenced.h"

#include <cmath>
#include <cstdint>

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {
namespace {

// Its element `at`, read or written behind the compiler's back.
volatile float& At(const Tensor& tensor, int64_t at) {
  return *(static_cast<volatile float*>(tensor.data<float>()) + at);
}

float Read(const Tensor& tensor, int64_t at) { return At(tensor, at); }

class FencedDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FencedDeathTest, NothingBeyondTheFenceCanBeTouched) {
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{1024}, Shape{1025}, Shape{0}}) {
    const int64_t size = shape.NumElements();
    const Tensor behind = FencedTensor(DType::kFloat32, shape);
    EXPECT_DEATH(At(behind, size) = 1, "");
    EXPECT_DEATH(Read(behind, size), "");
    const Tensor before = FencedTensor(DType::kFloat32, shape, Fence::kBefore);
    EXPECT_DEATH(Read(before, -1), "");
  }
  const FencedWorkspace workspace(128);
  EXPECT_DEATH(const_cast<volatile std::byte*>(workspace.Dirty().data())[128] = {}, "");
}

TEST_F(FencedDeathTest, APitchedViewItselfLiesAtTheFence) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const bool pixels = format == TensorFormat::kNHWC;
    const Shape shape = pixels ? Shape{2, 3, 5, 4} : Shape{2, 4, 3, 5};
    const Tensor behind = FencedPitched(DType::kFloat32, shape, format);
    EXPECT_EQ(pixels ? behind.PixelPitch() : behind.ImagePitch(), pixels ? 9 : 9 * 15);
    const int64_t end = pixels ? 29 * 9 + 4 : 9 * 15 + 4 * 15;
    At(behind, end - 1) = 1;
    EXPECT_DEATH(Read(behind, end), "");
    const Tensor before = FencedPitched(DType::kFloat32, shape, format, Fence::kBefore);
    At(before, 0) = 1;
    At(before, end - 1) = 1;
    EXPECT_DEATH(Read(before, -1), "");
  }
}

TEST(FencedTest, WhatIsWrittenBesideATensorFailsWhenItsLastViewIsGone) {
  for (const int64_t at : {-1, -200}) {
    Tensor tensor = FencedTensor(DType::kFloat32, {300});
    Tensor view = tensor.Reshaped({3, 100});
    tensor = Tensor();
    At(view, at) = 1;
    At(view, 0) = 1;
    At(view, 299) = 1;
    EXPECT_NONFATAL_FAILURE(view = Tensor(), "written outside");
  }
  const auto after = [] {
    const FencedWorkspace workspace(100);
    workspace.Dirty().data()[100] = std::byte{1};
  };
  EXPECT_NONFATAL_FAILURE(after(), "byte 100");
}

TEST(FencedTest, WhatIsWrittenBetweenRowsFails) {
  const auto write = [](int64_t at, TensorFormat format) {
    const Tensor view = Pitched(ZeroTensor(DType::kFloat32, {2, 3, 3, 3}), format);
    At(view, at) = 0;
  };
  write(2, TensorFormat::kNHWC);   // inside
  write(26, TensorFormat::kNCHW);  // inside
  EXPECT_NONFATAL_FAILURE(write(3, TensorFormat::kNHWC), "pitch 32: byte 12");
  EXPECT_NONFATAL_FAILURE(write(7, TensorFormat::kNHWC), "written outside");
  EXPECT_NONFATAL_FAILURE(write(27, TensorFormat::kNCHW), "written outside");
  EXPECT_NONFATAL_FAILURE(write(-1, TensorFormat::kNHWC), "written outside");
}

TEST(FencedTest, AllThatIsGuardedAndAllContentsAreNaN) {
  const Tensor view = FencedPitched(DType::kFloat64, {3, 2}, TensorFormat::kNHWC);
  for (int64_t i = 0; i < 2 * 7 + 2; ++i) EXPECT_TRUE(std::isnan(view.data<double>()[i])) << i;
  const FencedWorkspace workspace(72);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(workspace.Dirty().data()) % 64, 0);
  EXPECT_EQ(workspace.Dirty().size(), 72);
  workspace.Dirty()[5] = {};
  EXPECT_EQ(workspace.Dirty()[5], std::byte{0xff});
}

TEST(FencedTest, ValuesAreThoseOfTheDenseTensor) {
  const Tensor dense = RandomTensor(DType::kFloat32, {2, 3, 4, 5}, 1);
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const Fence fence : {Fence::kBehind, Fence::kBefore}) {
      EXPECT_EQ(Values(Pitched(dense, format, fence), format), Values(dense));
    }
  }
}

}  // namespace
}  // namespace dtnn::testing
