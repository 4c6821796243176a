#include "layers/base/initializer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"
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

TEST(InitializerTest, OnesMayBeAnotherNumber) {
  const Tensor values = ZeroTensor(DType::kFloat32, Shape{3});
  const Initializer quarters{.kind = InitializerKind::kOnes, .times = 0.25};
  quarters.Fill(values, Philox(1, 2));
  EXPECT_EQ(Values(values), (std::vector<double>{0.25, 0.25, 0.25}));
  EXPECT_EQ(quarters.Variance(), 0);
}

std::vector<InitializerKind> RandomKinds() {
  return {std::begin(kInitializerKinds) + 2, std::end(kInitializerKinds)};
}

TEST(InitializerTest, VariancesAreThoseOfThePapers) {
  const auto variance = [](InitializerKind kind) { return Initializer{kind, 50, 30}.Variance(); };
  EXPECT_DOUBLE_EQ(variance(InitializerKind::kGlorotUniform), 1 / 40.0);
  EXPECT_DOUBLE_EQ(variance(InitializerKind::kGlorotNormal), 1 / 40.0);
  EXPECT_DOUBLE_EQ(variance(InitializerKind::kHeUniform), 2 / 50.0);
  EXPECT_DOUBLE_EQ(variance(InitializerKind::kHeNormal), 2 / 50.0);
  EXPECT_DOUBLE_EQ(variance(InitializerKind::kLecunUniform), 1 / 50.0);
  EXPECT_DOUBLE_EQ(variance(InitializerKind::kLecunNormal), 1 / 50.0);
  EXPECT_EQ(variance(InitializerKind::kZeros), 0);
  EXPECT_NEAR((Initializer{InitializerKind::kLecunNormal, 100, 1}.Limit()),
              2 * 0.1 / 0.87962566103423978, 1e-15);
  EXPECT_DOUBLE_EQ((Initializer{InitializerKind::kHeUniform, 0, 0}.Variance()), 2);
}

// The probability that a value of the kind is at most x times its limit.
double Distribution(const Initializer& initializer, double x) {
  if (std::string(Name(initializer.kind)).find("uniform") != std::string::npos) return (1 + x) / 2;
  return (1 + std::erf(x * std::sqrt(2)) / std::erf(std::sqrt(2))) / 2;
}

TEST(InitializerTest, ValuesFollowTheirDistribution) {
  for (const InitializerKind kind : RandomKinds()) {
    SCOPED_TRACE(Name(kind));
    const Initializer initializer{kind, 200, 100};
    const Tensor weights = ZeroTensor(DType::kFloat64, Shape{200, 500});
    initializer.Fill(weights, Philox(1, 2));
    std::vector<double> values = Values(weights);
    const double n = double(values.size()), variance = initializer.Variance();
    double sum = 0, squares = 0;
    for (double value : values) {
      EXPECT_LE(std::abs(value), initializer.Limit());
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / n, 0, 4 * std::sqrt(variance / n));
    // The fourth moment of either distribution is below 3 variance^2.
    EXPECT_NEAR(squares / n / variance, 1, 4 * std::sqrt(2 / n));
    // Kolmogorov and Smirnov: the distance is below 1.95 / sqrt(n) in 999 of 1000 cases.
    std::sort(values.begin(), values.end());
    double distance = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double below = Distribution(initializer, values[i] / initializer.Limit());
      distance = std::max(distance, std::abs(below - (double(i) + 0.5) / n));
    }
    EXPECT_LT(distance, 1.95 / std::sqrt(n));
  }
}

TEST(InitializerTest, NormalValuesInvertTheDistributionFunction) {
  const Initializer normal{InitializerKind::kHeNormal, 2, 1};
  const Philox random(5, 6);
  const Tensor weights = ZeroTensor(DType::kFloat64, Shape{4001});
  normal.Fill(weights, random);
  const std::vector<double> values = Values(weights);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(Distribution(normal, values[i] / normal.Limit()), random.Uniform(i) + 0x1p-25,
                1e-11)
        << i;
  }
}

TEST(InitializerTest, SameValuesOnAnyNumberOfThreads) {
  for (const InitializerKind kind : RandomKinds()) {
    const Initializer initializer{kind, 9, 9};
    std::vector<double> first;
    for (int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      const Tensor weights = ZeroTensor(DType::kFloat32, Shape{100003});
      initializer.Fill(weights, Philox(3, 4));
      if (first.empty()) first = Values(weights);
      EXPECT_EQ(Values(weights), first) << Name(kind) << ", " << threads << " threads";
    }
  }
}

// Value i is a function of the stream and i alone: not of the shape, nor of what lies behind it.
TEST(InitializerTest, ALargerTensorBeginsWithTheSameValues) {
  for (const InitializerKind kind : RandomKinds()) {
    const Initializer initializer{kind, 9, 9};
    const Tensor small = ZeroTensor(DType::kFloat32, Shape{7});
    const Tensor large = ZeroTensor(DType::kFloat32, Shape{100, 10});
    initializer.Fill(small, Philox(3, 4));
    initializer.Fill(large, Philox(3, 4));
    std::vector<double> beginning = Values(large);
    beginning.resize(7);
    EXPECT_EQ(Values(small), beginning) << Name(kind);
  }
}

TEST(InitializerTest, BothDtypesDrawTheSameNumbers) {
  for (const InitializerKind kind : RandomKinds()) {
    const Initializer initializer{kind, 9, 9};
    const Tensor single = ZeroTensor(DType::kFloat32, Shape{1000});
    const Tensor twice = ZeroTensor(DType::kFloat64, Shape{1000});
    initializer.Fill(single, Philox(3, 4));
    initializer.Fill(twice, Philox(3, 4));
    EXPECT_TRUE(dtnn::testing::Close(single, twice, 0, 1e-7)) << Name(kind);
  }
}

TEST(InitializerTest, NamesAndKindsBelongTogether) {
  EXPECT_EQ(Name(InitializerKind::kGlorotUniform), "glorot_uniform");
  EXPECT_EQ(Name(InitializerKind::kLecunNormal), "lecun_normal");
  for (const InitializerKind kind : kInitializerKinds) {
    EXPECT_EQ(ParseInitializerKind(Name(kind)), kind);
  }
  EXPECT_EQ(ParseInitializerKind("normal"), std::nullopt);
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
