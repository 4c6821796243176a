#include "layers/initializer.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "tensor/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;

TEST(InitializerTest, LimitsAreThoseOfThePapers) {
  const Initializer glorot{InitializerKind::kGlorotUniform, 784, 128};
  EXPECT_NEAR(glorot.Limit(), 0.08111071, 1e-8);
  const Initializer he{InitializerKind::kHeUniform, 3 * 3 * 64, 1};
  EXPECT_NEAR(he.Limit(), 0.10206207, 1e-8);
}

TEST(InitializerTest, UniformFillsTheIntervalEvenly) {
  const Initializer glorot{InitializerKind::kGlorotUniform, 200, 100};
  const Tensor weights = ZeroTensor(DType::kFloat64, Shape{200, 100});
  glorot.Fill(weights, Philox(1, 2));
  const std::vector<double> values = Values(weights);
  double sum = 0, squares = 0;
  for (double value : values) {
    EXPECT_LE(std::abs(value), glorot.Limit());
    sum += value;
    squares += value * value;
  }
  const double n = double(values.size()), variance = glorot.Limit() * glorot.Limit() / 3;
  EXPECT_NEAR(sum / n, 0, 4 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n / variance, 1, 0.03);
}

TEST(InitializerTest, TheIthValueIsTheIthNumberOfTheStream) {
  const Initializer he{InitializerKind::kHeUniform, 6, 1};  // limit 1
  const Philox random(3, 4);
  for (int64_t count : {1, 3, 4, 5, 4098}) {
    const Tensor weights = ZeroTensor(DType::kFloat64, Shape{count});
    he.Fill(weights, random);
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(weights.data<double>()[i], 2 * random.Uniform(uint64_t(i)) - 1) << i;
    }
  }
}

TEST(InitializerTest, SameValuesOnAnyNumberOfThreads) {
  const Initializer he{InitializerKind::kHeUniform, 9, 9};
  std::vector<double> first;
  for (int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor weights = ZeroTensor(DType::kFloat32, Shape{100003});
    he.Fill(weights, Philox(3, 4));
    if (first.empty()) first = Values(weights);
    EXPECT_EQ(Values(weights), first) << threads << " threads";
  }
}

TEST(InitializerTest, BothDtypesDrawTheSameNumbers) {
  const Initializer he{InitializerKind::kHeUniform, 9, 9};
  const Tensor single = ZeroTensor(DType::kFloat32, Shape{1000});
  const Tensor twice = ZeroTensor(DType::kFloat64, Shape{1000});
  he.Fill(single, Philox(3, 4));
  he.Fill(twice, Philox(3, 4));
  EXPECT_TRUE(dtnn::testing::Close(single, twice, 1e-7));
}

TEST(InitializerTest, ZerosAndOnes) {
  const Tensor tensor = ZeroTensor(DType::kFloat32, Shape{5});
  Initializer{InitializerKind::kOnes}.Fill(tensor, Philox(1, 1));
  EXPECT_EQ(Values(tensor), std::vector<double>(5, 1.0));
  Initializer{InitializerKind::kZeros}.Fill(tensor, Philox(1, 1));
  EXPECT_EQ(Values(tensor), std::vector<double>(5, 0.0));
}

}  // namespace
}  // namespace dtnn
