#include "kernels/sum_of_squares/sum_of_squares.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::IntegerTensor;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;

constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 16384, 16385, 70001};

double Expected(const Tensor& x) {
  double sum = 0;
  for (const double value : Values(x)) sum += value * value;
  return sum;
}

class SumOfSquaresTest : public ::testing::TestWithParam<DType> {
 protected:
  double Run(const Tensor& x) const {
    return *(*CreateSumOfSquares(*context_, GetParam()))->Run(x);
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(SumOfSquaresTest, ExactOnIntegersOfEveryLength) {
  for (const int64_t n : kSizes) {
    const Tensor x = IntegerTensor(GetParam(), {n}, 1);
    EXPECT_EQ(Run(x), Expected(x)) << n;
  }
}

TEST_P(SumOfSquaresTest, ASmallerArrayMayFollowALargerOne) {
  const auto sum = *CreateSumOfSquares(*context_, GetParam());
  for (const int64_t n : {70001, 3, 0, 16385}) {
    const Tensor x = IntegerTensor(GetParam(), {n}, 1);
    EXPECT_EQ(*sum->Run(x), Expected(x)) << n;
  }
}

// Where the device itself reads the sum.
void ExpectExactInMemory(DeviceContext& context, DType dtype) {
  const auto sum = *CreateSumOfSquares(context, dtype);
  const Tensor total = testing::Put(context, TensorOf(DType::kFloat64, {1}, {-1}));
  for (const int64_t n : kSizes) {
    const Tensor x = IntegerTensor(dtype, {n}, 1);
    ASSERT_EQ(sum->Queue(testing::Put(context, x), total), absl::OkStatus());
    EXPECT_EQ(Values(testing::Get(context, total))[0], Expected(x)) << n;
  }
  EXPECT_FALSE(sum->Queue(total, testing::Put(context, TensorOf(dtype, {2}, {0, 0}))).ok());
}

void ExpectExactOn(DeviceContext& gpu, DType dtype) {
  const auto sum = *CreateSumOfSquares(gpu, dtype);
  for (const int64_t n : kSizes) {
    const Tensor x = IntegerTensor(dtype, {n}, 1);
    EXPECT_EQ(*sum->Run(testing::Put(gpu, x)), Expected(x)) << n;
  }
  ExpectExactInMemory(gpu, dtype);
}

TEST_P(SumOfSquaresTest, ExactInTheDevicesMemory) { ExpectExactInMemory(*context_, GetParam()); }

TEST_P(SumOfSquaresTest, ExactOnASimulatedGpu) {
  ExpectExactOn(**DeviceContext::Create(Device::Simulated(0)), GetParam());
}

TEST_P(SumOfSquaresTest, ExactOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectExactOn(*gpu, GetParam());
}

TEST_P(SumOfSquaresTest, SquaresBeyondFloatAddUp) {
  const Tensor x = TensorOf(GetParam(), {3}, {0x1p100, 0x1p-100, -0x1p100});
  EXPECT_EQ(Run(x), 0x1p201);
}

TEST_P(SumOfSquaresTest, NaNAndInfinityShow) {
  EXPECT_TRUE(std::isnan(Run(TensorOf(GetParam(), {9}, {1, 2, std::nan(""), 4, 5, 6, 7, 8, 9}))));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Run(TensorOf(GetParam(), {2}, {1, -infinity})), infinity);
}

TEST_P(SumOfSquaresTest, SameBitsOnAnyNumberOfThreads) {
  const Tensor x = RandomTensor(GetParam(), {300007}, 1);
  SetNumThreads(1);
  const double expected = Run(x);
  EXPECT_NEAR(expected, Expected(x), 1e-12 * expected);
  for (const int threads : {2, 3, 4}) {
    SetNumThreads(threads);
    EXPECT_EQ(Run(x), expected) << threads << " threads";
  }
}

TEST_P(SumOfSquaresTest, RefusesAPitchAndOtherTypes) {
  const auto sum = *CreateSumOfSquares(*context_, GetParam());
  const Tensor x = testing::Pitched(RandomTensor(GetParam(), {2, 3}, 1), TensorFormat::kNHWC);
  EXPECT_NE(std::string(sum->Run(x).status().message()).find("on cpu, pitched; expected"),
            std::string::npos);
  EXPECT_FALSE(sum->Run(TensorOf(DType::kInt32, {1}, {1})).ok());
  EXPECT_FALSE(CreateSumOfSquares(*context_, DType::kInt32).ok());
}

INSTANTIATE_TEST_SUITE_P(, SumOfSquaresTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
