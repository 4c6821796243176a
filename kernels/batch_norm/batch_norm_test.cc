#include "kernels/batch_norm/batch_norm.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/testing/bench.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::BatchNormBench;
using testing::BatchNormTest;
using testing::Case;
using testing::Cases;
using testing::Close;
using testing::Doubles;
using testing::Epsilon;
using testing::Image;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::Vectors;
using testing::ZeroTensor;

// Sums of small integers are exact, and so are statistics of channels with a power of two elements.
TEST_P(BatchNormTest, StatisticsOfIntegersAreExact) {
  for (const Case& c :
       {Vectors(8, 5), Image(TensorFormat::kNHWC, 2, 4, 8, 3),
        Image(TensorFormat::kNCHW, 2, 4, 8, 3), Image(TensorFormat::kNHWC, 4, 16, 64, 33),
        Image(TensorFormat::kNCHW, 4, 16, 64, 33)}) {
    const Tensor x = IntegerTensor(GetParam(), c.shape, 3);
    BatchNormBench bench = Make(c);
    Doubles mean, variance;
    bench.reference.Statistics(Values(x), mean, variance);
    for (const Tensor& view : {x, Pitched(x, c.format)}) {
      ASSERT_TRUE(bench.primitive->Statistics(view, bench.statistics, bench.workspace).ok());
      EXPECT_TRUE(Close(Values(bench.statistics.mean), mean, 1e-15)) << c.shape.ToString();
      const double bound = 1e3 * Epsilon(GetParam());
      EXPECT_TRUE(Close(Values(bench.statistics.variance), variance, bound));
    }
  }
}

TEST_P(BatchNormTest, ForwardEqualsReferenceDensePitchedAndInPlace) {
  for (const Case& c : Cases()) {
    for (const bool relu : {false, true}) {
      const Tensor x = Input(c);
      BatchNormBench bench = Make(c, relu);
      Doubles mean, variance;
      bench.reference.Statistics(Values(x), mean, variance);
      const Doubles expected = bench.reference.Apply(Values(x), mean, variance);
      // Two or three samples may lie close together: 1 / deviation is large then.
      const double bound = 500 * Epsilon(GetParam());
      const Tensor y = Pitched(ZeroTensor(GetParam(), c.shape), c.format);
      bench.Forward(Pitched(x, c.format), y);
      EXPECT_TRUE(Close(Values(y, c.format), expected, bound)) << c.shape.ToString();
      bench.Forward(x, x);
      EXPECT_TRUE(Close(Values(x), expected, bound)) << c.shape.ToString() << " in place";
    }
  }
}

TEST_P(BatchNormTest, GoldenValues) {
  const Case c = Vectors(4, 1);
  BatchNormBench bench = Make(c);
  bench.parameters = {{TensorOf(GetParam(), {1}, {1}), 1}, {TensorOf(GetParam(), {1}, {0}), 1}};
  bench.running.variance = {TensorOf(GetParam(), {1}, {1}), 1};
  const Tensor x = TensorOf(GetParam(), c.shape, {1, 2, 3, 4}), y = ZeroTensor(GetParam(), c.shape);
  const double bound = 5e-9 + 4 * Epsilon(GetParam());
  bench.Forward(x, y);
  EXPECT_TRUE(Close(Values(y), {-1.34163542, -0.44721181, 0.44721181, 1.34163542}, bound));
  ASSERT_TRUE(bench.primitive->Track(bench.statistics, bench.running).ok());
  EXPECT_TRUE(Close(Values(bench.running.mean.tensor), {0.25}, bound));
  EXPECT_TRUE(Close(Values(bench.running.variance.tensor), {1.025}, bound));
  const Tensor dy = TensorOf(GetParam(), c.shape, {1, 0, 0, 0});
  bench.Backward(x, dy, y, false);
  EXPECT_TRUE(Close(Values(bench.gradients.gamma), {-1.34163542}, bound));
  EXPECT_TRUE(Close(Values(bench.gradients.beta), {1}, bound));
  EXPECT_TRUE(Close(Values(y), {0.26833030, -0.35776837, -0.08944343, 0.17888150}, bound));
}

// float32 numbers near 1e4 lie 1e-3 apart; what is left of the deviation is computed in full.
TEST_P(BatchNormTest, ALargeMeanCostsNoDigits) {
  for (const Case& c : {Vectors(1000, 3), Image(TensorFormat::kNHWC, 8, 32, 32, 16),
                        Image(TensorFormat::kNCHW, 8, 32, 32, 16)}) {
    Doubles values = Values(RandomTensor(DType::kFloat64, c.shape, 1));
    for (double& value : values) value = 1e4 + 1.7 * value;
    const Tensor x = TensorOf(GetParam(), c.shape, values), y = ZeroTensor(GetParam(), c.shape);
    const Tensor dy = RandomTensor(GetParam(), c.shape, 2);
    BatchNormBench bench = Make(c);
    Doubles mean, variance, dgamma, dbeta, dx;
    bench.reference.Statistics(Values(x), mean, variance);
    bench.reference.Backward(Values(x), Values(dy), dgamma, dbeta, dx);
    bench.Forward(x, y);
    const double epsilon = GetParam() == DType::kFloat32 ? Epsilon(GetParam()) : 1e-12;
    EXPECT_TRUE(Close(Values(bench.statistics.mean), mean, 16 * epsilon));
    EXPECT_TRUE(Close(Values(bench.statistics.variance), variance, 16 * epsilon));
    EXPECT_TRUE(Close(Values(y), bench.reference.Apply(Values(x), mean, variance), 16 * epsilon));
    bench.Backward(x, dy, y, false);
    EXPECT_TRUE(Close(Values(bench.gradients.gamma), dgamma, 1000 * epsilon));
    EXPECT_TRUE(Close(Values(y), dx, 16 * epsilon));
  }
}

// Few elements far off, among them perhaps those that the sums start from.
TEST_P(BatchNormTest, OutliersCostFewDigits) {
  for (const Case& c :
       {Image(TensorFormat::kNHWC, 8, 32, 32, 16), Image(TensorFormat::kNCHW, 8, 32, 32, 16)}) {
    for (const size_t first : {0, 256, 512}) {
      Doubles values = Values(RandomTensor(DType::kFloat64, c.shape, 1));
      for (size_t i = first; i < values.size(); i += 512) values[i] = 1e5;
      const Tensor x = TensorOf(GetParam(), c.shape, values);
      BatchNormBench bench = Make(c);
      Doubles mean, variance;
      bench.reference.Statistics(Values(x), mean, variance);
      ASSERT_TRUE(bench.primitive->Statistics(x, bench.statistics, bench.workspace).ok());
      const double epsilon = GetParam() == DType::kFloat32 ? Epsilon(GetParam()) : 1e-14;
      const double deviation = std::sqrt(variance[0]);
      EXPECT_TRUE(Close(Values(bench.statistics.mean), mean, 64 * epsilon * deviation));
      EXPECT_TRUE(Close(Values(bench.statistics.variance), variance, epsilon, 1000 * epsilon));
    }
  }
}

// Nor does one element of many, wherever it is.
TEST_P(BatchNormTest, OneOutlierCostsFewDigits) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Case c = Image(format, 8, 64, 64, 1);
    for (const size_t place : {size_t{0}, size_t{12345}, size_t{8 * 64 * 64 - 1}}) {
      Doubles values = Values(RandomTensor(DType::kFloat64, c.shape, 1));
      values[place] = 1e5;
      const Tensor x = TensorOf(GetParam(), c.shape, values);
      BatchNormBench bench = Make(c);
      Doubles mean, variance;
      bench.reference.Statistics(Values(x), mean, variance);
      ASSERT_TRUE(bench.primitive->Statistics(x, bench.statistics, bench.workspace).ok());
      const double epsilon = GetParam() == DType::kFloat32 ? Epsilon(GetParam()) : 1e-14;
      EXPECT_TRUE(Close(Values(bench.statistics.variance), variance, 0, 1000 * epsilon)) << place;
    }
  }
}

TEST_P(BatchNormTest, EqualElementsHaveNoVariance) {
  for (const Case& c : Cases()) {
    const Tensor x = TensorOf(GetParam(), c.shape, Doubles(size_t(c.shape.NumElements()), 1.375));
    const Tensor y = ZeroTensor(GetParam(), c.shape);
    BatchNormBench bench = Make(c);
    bench.Forward(x, y);
    EXPECT_EQ(Values(bench.statistics.mean), Doubles(size_t(c.channels), 1.375));
    EXPECT_EQ(Values(bench.statistics.variance), Doubles(size_t(c.channels), 0));
    Doubles beta(size_t(x.num_elements()));
    for (size_t i = 0; i < beta.size(); ++i) {
      beta[i] = bench.reference.beta[bench.reference.ChannelOf(i)];
    }
    EXPECT_EQ(Values(y), beta) << c.shape.ToString();
  }
}

TEST_P(BatchNormTest, InferenceUsesRunningStatistics) {
  for (const Case& c : Cases()) {
    for (const bool relu : {false, true}) {
      const Tensor x = Input(c);
      BatchNormBench bench = Make(c, relu);
      bench.running.mean.tensor = RandomTensor(GetParam(), {c.channels}, 5);
      Doubles variance = Values(RandomTensor(GetParam(), {c.channels}, 6));
      for (double& value : variance) value += 1.25;
      bench.running.variance.tensor = TensorOf(GetParam(), {c.channels}, variance);
      const Doubles expected =
          bench.reference.Apply(Values(x), Values(bench.running.mean.tensor), variance);
      const Tensor y = Pitched(ZeroTensor(GetParam(), c.shape), c.format);
      ASSERT_TRUE(bench.Infer(Pitched(x, c.format), y).ok());
      EXPECT_TRUE(Close(Values(y, c.format), expected, 30 * Epsilon(GetParam())));
      ASSERT_TRUE(bench.Infer(x, x).ok());
      EXPECT_TRUE(Close(Values(x), expected, 30 * Epsilon(GetParam()))) << c.shape.ToString();
    }
  }
}

TEST_P(BatchNormTest, InferenceRenewsWhatAVersionMakesOld) {
  const Case c = Vectors(1, 1);
  BatchNormBench bench = Make(c);
  const Tensor x = TensorOf(GetParam(), c.shape, {0}), y = ZeroTensor(GetParam(), c.shape);
  bench.running.variance.tensor = TensorOf(GetParam(), {1}, {1});
  const auto infer_with_beta = [&](double beta, uint64_t version) {
    bench.parameters.beta = {TensorOf(GetParam(), {1}, {beta}), version};
    EXPECT_TRUE(bench.Infer(x, y).ok());
    return Values(y)[0];
  };
  EXPECT_EQ(infer_with_beta(1, 1), 1);
  EXPECT_EQ(infer_with_beta(2, 1), 1) << "an equal version promises equal values";
  EXPECT_EQ(infer_with_beta(2, 2), 2);
  EXPECT_EQ(infer_with_beta(3, 0), 3);
  EXPECT_EQ(infer_with_beta(4, 0), 4) << "0 is not a version";
}

TEST_P(BatchNormTest, InferenceLooksAtTheVersionOfEachParameter) {
  const Case c = Vectors(1, 1);
  BatchNormBench bench = Make(c);
  const Tensor x = TensorOf(GetParam(), c.shape, {1}), y = ZeroTensor(GetParam(), c.shape);
  ParameterView* const views[] = {&bench.parameters.gamma, &bench.parameters.beta,
                                  &bench.running.mean, &bench.running.variance};
  for (ParameterView* const view : views) *view = {TensorOf(GetParam(), {1}, {0.5}), 1};
  double before = 0;
  for (ParameterView* const view : views) {
    ASSERT_TRUE(bench.Infer(x, y).ok());
    before = Values(y)[0];
    *view = {TensorOf(GetParam(), {1}, {0.25}), 2};
    ASSERT_TRUE(bench.Infer(x, y).ok());
    EXPECT_NE(Values(y)[0], before);
  }
}

TEST_P(BatchNormTest, ANegativeRunningVarianceCountsAsZero) {
  const Case c = Vectors(1, 1);
  BatchNormBench bench = Make(c);
  bench.parameters = {{TensorOf(GetParam(), {1}, {1}), 1}, {TensorOf(GetParam(), {1}, {0}), 1}};
  const Tensor x = TensorOf(GetParam(), c.shape, {1}), y = ZeroTensor(GetParam(), c.shape);
  bench.running.variance.tensor = TensorOf(GetParam(), {1}, {-1});
  ASSERT_TRUE(bench.Infer(x, y).ok());
  EXPECT_NEAR(Values(y)[0], std::sqrt(1e5), 1e-4);
}

TEST_P(BatchNormTest, NaNFillsItsChannelOnly) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Case c = Image(format, 2, 3, 3, 2);
    Doubles values(36, 1.0);
    values[20] = std::nan("");
    const Tensor x = TensorOf(GetParam(), c.shape, values), y = ZeroTensor(GetParam(), c.shape);
    BatchNormBench bench = Make(c, /*relu=*/true);
    bench.Forward(x, y);
    const Doubles result = Values(y);
    for (size_t i = 0; i < result.size(); ++i) {
      EXPECT_EQ(std::isnan(result[i]),
                bench.reference.ChannelOf(i) == bench.reference.ChannelOf(20));
    }
  }
}

TEST_P(BatchNormTest, NaNInAnyParameterOrStatisticComesOut) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.shape.ToString());
    for (int operand = 0; operand < 4; ++operand) {
      BatchNormBench bench = Make(c, /*relu=*/true);
      const Tensor nans = NaNTensor(GetParam(), {c.channels}), x = Input(c);
      const Tensor y = ZeroTensor(GetParam(), c.shape);
      Tensor* const operands[] = {&bench.parameters.gamma.tensor, &bench.parameters.beta.tensor,
                                  &bench.running.mean.tensor, &bench.running.variance.tensor};
      *operands[operand] = nans;
      const Doubles channels = Values(nans);
      Doubles expected(size_t(y.num_elements()));
      for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] = channels[bench.reference.ChannelOf(i)];
      }
      ASSERT_TRUE(bench.Infer(x, y).ok());
      EXPECT_TRUE(KeepsNaN(Values(y), expected)) << operand;
    }
  }
}

TEST_P(BatchNormTest, SameBitsOnAnyNumberOfThreads) {
  for (const Case& c :
       {Image(TensorFormat::kNHWC, 16, 28, 28, 24), Image(TensorFormat::kNCHW, 16, 28, 28, 24),
        Image(TensorFormat::kNHWC, 16, 28, 28, 300), Image(TensorFormat::kNCHW, 64, 28, 28, 2),
        Vectors(200, 1500)}) {
    const Tensor x = Input(c), dy = RandomTensor(GetParam(), c.shape, 2);
    std::vector<Doubles> first;
    for (const int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      BatchNormBench bench = Make(c, /*relu=*/true);
      const Tensor y = ZeroTensor(GetParam(), c.shape), dx = ZeroTensor(GetParam(), c.shape);
      bench.Forward(x, y);
      bench.Backward(x, dy, dx, false);
      const std::vector<Doubles> results = {
          Values(bench.statistics.mean), Values(bench.statistics.variance), Values(y),
          Values(bench.gradients.gamma), Values(bench.gradients.beta),      Values(dx)};
      if (first.empty()) first = results;
      EXPECT_EQ(results, first) << threads << " threads, " << c.shape.ToString();
    }
  }
}

TEST_P(BatchNormTest, ASmallerBatchIsTheSameAsAPrimitiveOfItsSize) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Case large = Image(format, 16, 28, 28, 24), small = Image(format, 5, 28, 28, 24);
    const Tensor x = Input(small), y = ZeroTensor(GetParam(), small.shape);
    BatchNormBench of_its_size = Make(small), larger = Make(large);
    of_its_size.Forward(x, y);
    const Doubles expected = Values(y);
    larger.Forward(x, y);
    EXPECT_EQ(Values(y), expected);
  }
}

TEST_P(BatchNormTest, RefusesWhatDoesNotFit) {
  BatchNormBench bench = Make(Image(TensorFormat::kNHWC, 2, 3, 3, 4));
  const Tensor other = ZeroTensor(GetParam(), {2, 3, 4, 4});
  EXPECT_EQ(
      bench.Infer(other, other).message(),
      "batch normalisation: shape (2, 3, 4, 4), expected up to 2 samples of 9 positions and 4 "
      "channels");
  EXPECT_FALSE(bench.Infer(ZeroTensor(GetParam(), {3, 3, 3, 4}), other).ok());
  const Tensor x = ZeroTensor(GetParam(), {2, 3, 3, 4}),
               none = ZeroTensor(GetParam(), {0, 3, 3, 4});
  EXPECT_FALSE(bench.primitive->Statistics(x, bench.statistics, {}).ok());
  EXPECT_FALSE(bench.primitive->Statistics(none, bench.statistics, bench.workspace).ok());
  bench.parameters.gamma.tensor = ZeroTensor(GetParam(), {5});
  EXPECT_FALSE(bench.Infer(x, x).ok());
}

INSTANTIATE_TEST_SUITE_P(, BatchNormTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(BatchNormCreateTest, RefusesNonsense) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  EXPECT_FALSE(CreateBatchNorm(*context, {.batch = 1, .channels = 0}).ok());
  EXPECT_FALSE(CreateBatchNorm(*context, {.batch = 1, .channels = 1, .epsilon = 0}).ok());
  EXPECT_FALSE(CreateBatchNorm(*context, {.batch = 1, .channels = 1, .momentum = 1.5}).ok());
  EXPECT_FALSE(CreateBatchNorm(*context, {.batch = 1, .channels = 1, .dtype = DType::kInt32}).ok());
}

}  // namespace
}  // namespace dtnn
