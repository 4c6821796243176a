#include "kernels/batch_norm/batch_norm.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/reference.h"
#include "kernels/elementwise/simd_targets.h"
#include "tensor/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::ForEachSimdTarget;
using testing::IntegerTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

struct Case {
  TensorFormat format;
  Shape shape;
  int64_t outer, channels, inner;
};

Case Image(TensorFormat format, int64_t n, int64_t h, int64_t w, int64_t c) {
  return format == TensorFormat::kNHWC ? Case{format, {n, h, w, c}, n * h * w, c, 1}
                                       : Case{format, {n, c, h, w}, n, c, h * w};
}
Case Vectors(int64_t n, int64_t features) {
  return {TensorFormat::kNHWC, {n, features}, n, features, 1};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t features : {1, 3, 8, 17, 513}) {
    for (const int64_t n : {1, 2, 33}) cases.push_back(Vectors(n, features));
  }
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const int64_t channels : {1, 3, 16, 20, 33, 130}) {
      cases.push_back(Image(format, 1, 1, 1, channels));
      cases.push_back(Image(format, 5, 1, 1, channels));
      cases.push_back(Image(format, 3, 5, 7, channels));
    }
    cases.push_back(Image(format, 2, 7, 9, 600));
    cases.push_back(Image(format, 2, 4, 4, 2));
    cases.push_back(Image(format, 1, 67, 65, 2));
    cases.push_back(Image(format, 6, 20, 28, 24));  // enough for two parts
  }
  return cases;
}

double Epsilon(DType dtype) {
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                  : std::numeric_limits<double>::epsilon();
}

// A primitive with the memory that a layer would give it, and random parameters.
struct Bench {
  Bench(DeviceContext& context, DType dtype, const Case& c, bool relu = false)
      : c(c),
        primitive(*CreateBatchNorm(context,
                                   {.batch = c.shape[0],
                                    .positions = c.shape.NumElements() / (c.shape[0] * c.channels),
                                    .channels = c.channels,
                                    .format = c.format,
                                    .dtype = dtype,
                                    .relu = relu})),
        statistics{ZeroTensor(DType::kFloat64, {c.channels}),
                   ZeroTensor(DType::kFloat64, {c.channels})},
        parameters{{RandomTensor(dtype, {c.channels}, 11), 1},
                   {RandomTensor(dtype, {c.channels}, 12), 1}},
        running{{ZeroTensor(dtype, {c.channels}), 1}, {ZeroTensor(dtype, {c.channels}), 1}},
        gradients{ZeroTensor(dtype, {c.channels}), ZeroTensor(dtype, {c.channels})},
        workspace_memory(ZeroTensor(DType::kUint8, {int64_t(primitive->workspace_bytes())})),
        workspace(workspace_memory.raw_data(), primitive->workspace_bytes()),
        reference{c.outer,
                  c.channels,
                  c.inner,
                  1e-5,
                  relu,
                  Values(parameters.gamma.tensor),
                  Values(parameters.beta.tensor)} {}

  void Forward(const Tensor& x, const Tensor& y) {
    ASSERT_TRUE(primitive->Statistics(x, statistics, workspace).ok());
    ASSERT_TRUE(primitive->Apply(x, statistics, parameters, y, workspace).ok());
  }
  void Backward(const Tensor& x, const Tensor& dy, const Tensor& dx, bool accumulate) {
    ASSERT_TRUE(primitive->Gradients(x, dy, statistics, parameters, gradients, workspace).ok());
    ASSERT_TRUE(primitive
                    ->BackwardData(x, dy, statistics, parameters, gradients, c.outer * c.inner, dx,
                                   accumulate, workspace)
                    .ok());
  }
  absl::Status Infer(const Tensor& x, const Tensor& y) {
    return primitive->Infer(x, parameters, running, y, workspace);
  }

  Case c;
  std::unique_ptr<BatchNorm> primitive;
  BatchStatistics statistics;
  BatchNormParameters parameters;
  RunningStatistics running;
  BatchNormGradients gradients;
  Tensor workspace_memory;
  Workspace workspace;
  reference::BatchNorm reference;
};

class BatchNormTest : public ::testing::TestWithParam<DType> {
 protected:
  // Spread around 0.5 with a deviation near 1, so that a relu cuts off a part.
  Tensor Input(const Case& c, uint64_t seed = 1) const {
    Doubles values = Values(RandomTensor(DType::kFloat64, c.shape, seed));
    for (double& value : values) value = 2 * value + 0.5;
    return TensorOf(GetParam(), c.shape, values);
  }
  Bench Make(const Case& c, bool relu = false) const { return {*context_, GetParam(), c, relu}; }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

// Sums of small integers are exact, and so are statistics of channels with a power of two elements.
TEST_P(BatchNormTest, StatisticsOfIntegersAreExact) {
  ForEachSimdTarget([&] {
    for (const Case& c :
         {Vectors(8, 5), Image(TensorFormat::kNHWC, 2, 4, 8, 3),
          Image(TensorFormat::kNCHW, 2, 4, 8, 3), Image(TensorFormat::kNHWC, 4, 16, 64, 33),
          Image(TensorFormat::kNCHW, 4, 16, 64, 33)}) {
      const Tensor x = IntegerTensor(GetParam(), c.shape, 3);
      Bench bench = Make(c);
      Doubles mean, variance;
      bench.reference.Statistics(Values(x), mean, variance);
      for (const Tensor& view : {x, Pitched(x, c.format)}) {
        ASSERT_TRUE(bench.primitive->Statistics(view, bench.statistics, bench.workspace).ok());
        EXPECT_TRUE(Close(Values(bench.statistics.mean), mean, 1e-15)) << c.shape.ToString();
        const double bound = 1e3 * Epsilon(GetParam());
        EXPECT_TRUE(Close(Values(bench.statistics.variance), variance, bound));
      }
    }
  });
}

TEST_P(BatchNormTest, ForwardEqualsReferenceDensePitchedAndInPlace) {
  ForEachSimdTarget([&] {
    for (const Case& c : Cases()) {
      for (const bool relu : {false, true}) {
        const Tensor x = Input(c);
        Bench bench = Make(c, relu);
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
  });
}

TEST_P(BatchNormTest, BackwardEqualsReferenceDensePitchedAndInPlace) {
  ForEachSimdTarget([&] {
    for (const Case& c : Cases()) {
      if (c.outer * c.inner < 3) continue;  // two close samples have no sensible bound
      for (const bool relu : {false, true}) {
        const Tensor x = Input(c), dy = RandomTensor(GetParam(), c.shape, 2);
        Bench bench = Make(c, relu);
        bench.Forward(x, ZeroTensor(GetParam(), c.shape));
        Doubles dgamma, dbeta, expected;
        bench.reference.Backward(Values(x), Values(dy), dgamma, dbeta, expected);
        const double bound = 500 * Epsilon(GetParam());
        const auto check = [&](const Tensor& dx, const char* what) {
          const double terms = std::sqrt(double(c.outer * c.inner));
          EXPECT_TRUE(Close(Values(bench.gradients.gamma), dgamma, bound * terms)) << what;
          EXPECT_TRUE(Close(Values(bench.gradients.beta), dbeta, bound * terms)) << what;
          EXPECT_TRUE(Close(Values(dx, c.format), expected, bound))
              << what << c.shape.ToString() << relu;
        };
        const Tensor dx = Pitched(ZeroTensor(GetParam(), c.shape), c.format);
        bench.Backward(Pitched(x, c.format), Pitched(dy, c.format), dx, false);
        check(dx, "pitched ");
        const Tensor in_place = TensorOf(GetParam(), c.shape, Values(dy));
        bench.Backward(x, in_place, in_place, false);
        check(in_place, "in place ");
        const Tensor ones = TensorOf(GetParam(), c.shape, Doubles(expected.size(), 1.0));
        bench.Backward(x, dy, ones, true);
        for (double& value : expected) value += 1;
        check(ones, "accumulating ");
      }
    }
  });
}

// The mask of a relu must be that of the forward pass, to the bit, wherever an element stands in a
// vector: with beta = 0 half of the outputs are near 0.
TEST_P(BatchNormTest, ReluMaskOfBackwardIsThatOfForward) {
  ForEachSimdTarget([&] {
    for (const Case& c : Cases()) {
      Bench bench = Make(c, /*relu=*/true);
      bench.parameters.beta.tensor = ZeroTensor(GetParam(), {c.channels});
      bench.parameters.gamma.tensor =
          TensorOf(GetParam(), {c.channels}, Doubles(size_t(c.channels), 1));
      const Tensor x = IntegerTensor(GetParam(), c.shape, 3, 1),
                   y = ZeroTensor(GetParam(), c.shape);
      bench.Forward(x, y);
      // Only one element of dy is not 0: if it counts, dbeta shows it.
      const Doubles outputs = Values(y);
      double positive = 0;
      for (const double output : outputs) positive += output > 0;
      const Tensor dy = TensorOf(GetParam(), c.shape, Doubles(outputs.size(), 1));
      ASSERT_TRUE(bench.primitive
                      ->Gradients(Pitched(x, c.format), dy, bench.statistics, bench.parameters,
                                  bench.gradients, bench.workspace)
                      .ok());
      double counted = 0;
      for (const double beta : Values(bench.gradients.beta)) counted += beta;
      EXPECT_EQ(counted, positive) << c.shape.ToString();
    }
  });
}

TEST_P(BatchNormTest, GoldenValues) {
  const Case c = Vectors(4, 1);
  Bench bench = Make(c);
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
  ForEachSimdTarget([&] {
    for (const Case& c : {Vectors(1000, 3), Image(TensorFormat::kNHWC, 8, 32, 32, 16),
                          Image(TensorFormat::kNCHW, 8, 32, 32, 16)}) {
      Doubles values = Values(RandomTensor(DType::kFloat64, c.shape, 1));
      for (double& value : values) value = 1e4 + 1.7 * value;
      const Tensor x = TensorOf(GetParam(), c.shape, values), y = ZeroTensor(GetParam(), c.shape);
      const Tensor dy = RandomTensor(GetParam(), c.shape, 2);
      Bench bench = Make(c);
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
  });
}

// Few elements far off, among them perhaps those that the sums start from.
TEST_P(BatchNormTest, OutliersCostFewDigits) {
  for (const Case& c :
       {Image(TensorFormat::kNHWC, 8, 32, 32, 16), Image(TensorFormat::kNCHW, 8, 32, 32, 16)}) {
    for (const size_t first : {0, 256, 512}) {
      Doubles values = Values(RandomTensor(DType::kFloat64, c.shape, 1));
      for (size_t i = first; i < values.size(); i += 512) values[i] = 1e5;
      const Tensor x = TensorOf(GetParam(), c.shape, values);
      Bench bench = Make(c);
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

TEST_P(BatchNormTest, EqualElementsHaveNoVariance) {
  ForEachSimdTarget([&] {
    for (const Case& c : Cases()) {
      const Tensor x = TensorOf(GetParam(), c.shape, Doubles(size_t(c.shape.NumElements()), 1.375));
      const Tensor y = ZeroTensor(GetParam(), c.shape);
      Bench bench = Make(c);
      bench.Forward(x, y);
      EXPECT_EQ(Values(bench.statistics.mean), Doubles(size_t(c.channels), 1.375));
      EXPECT_EQ(Values(bench.statistics.variance), Doubles(size_t(c.channels), 0));
      Doubles beta(size_t(x.num_elements()));
      for (size_t i = 0; i < beta.size(); ++i) {
        beta[i] = bench.reference.beta[bench.reference.ChannelOf(i)];
      }
      EXPECT_EQ(Values(y), beta) << c.shape.ToString();
    }
  });
}

TEST_P(BatchNormTest, InferenceUsesRunningStatistics) {
  ForEachSimdTarget([&] {
    for (const Case& c : Cases()) {
      for (const bool relu : {false, true}) {
        const Tensor x = Input(c);
        Bench bench = Make(c, relu);
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
  });
}

TEST_P(BatchNormTest, InferenceRenewsWhatAVersionMakesOld) {
  const Case c = Vectors(1, 1);
  Bench bench = Make(c);
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
  EXPECT_EQ(infer_with_beta(4, 0), 4) << "0 is no version";
}

TEST_P(BatchNormTest, ANegativeRunningVarianceCountsAsZero) {
  const Case c = Vectors(1, 1);
  Bench bench = Make(c);
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
    Bench bench = Make(c, /*relu=*/true);
    bench.Forward(x, y);
    const Doubles result = Values(y);
    for (size_t i = 0; i < result.size(); ++i) {
      EXPECT_EQ(std::isnan(result[i]),
                bench.reference.ChannelOf(i) == bench.reference.ChannelOf(20));
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
      Bench bench = Make(c, /*relu=*/true);
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
    Bench of_its_size = Make(small), larger = Make(large);
    of_its_size.Forward(x, y);
    const Doubles expected = Values(y);
    larger.Forward(x, y);
    EXPECT_EQ(Values(y), expected);
  }
}

// Ranks would merge their statistics between the two steps of the forward pass, and add up their
// gradients between the two of the backward pass: together they do what one does with all samples.
TEST_P(BatchNormTest, StepsLeaveRoomForAnExchange) {
  const Case whole = Vectors(7, 3);
  const Tensor x = Input(whole), dy = RandomTensor(GetParam(), whole.shape, 2);
  Bench all = Make(whole);
  const Tensor y = ZeroTensor(GetParam(), whole.shape), dx = ZeroTensor(GetParam(), whole.shape);
  all.Forward(x, y);
  all.Backward(x, dy, dx, false);
  const auto part_of = [&](const Tensor& tensor, int64_t begin, int64_t count) {
    return tensor.Samples(begin, count, TensorFormat::kNHWC);
  };
  Bench one = Make(whole), other = Make(whole);
  ASSERT_TRUE(one.primitive->Statistics(part_of(x, 0, 3), one.statistics, one.workspace).ok());
  ASSERT_TRUE(
      other.primitive->Statistics(part_of(x, 3, 4), other.statistics, other.workspace).ok());
  const BatchStatistics merged = {ZeroTensor(DType::kFloat64, {3}),
                                  ZeroTensor(DType::kFloat64, {3})};
  for (int c = 0; c < 3; ++c) {
    const auto at = [&](const Tensor& tensor) -> double& { return tensor.data<double>()[c]; };
    const double m0 = at(one.statistics.mean), m1 = at(other.statistics.mean);
    const double mean = (3 * m0 + 4 * m1) / 7;
    at(merged.mean) = mean;
    at(merged.variance) = (3 * (at(one.statistics.variance) + (m0 - mean) * (m0 - mean)) +
                           4 * (at(other.statistics.variance) + (m1 - mean) * (m1 - mean))) /
                          7;
  }
  const Tensor merged_y = ZeroTensor(GetParam(), whole.shape);
  const Tensor merged_dx = ZeroTensor(GetParam(), whole.shape);
  Doubles dgamma(3), dbeta(3);
  for (const auto& [bench, begin, count] : {std::tuple(&one, 0, 3), std::tuple(&other, 3, 4)}) {
    ASSERT_TRUE(bench->primitive
                    ->Apply(part_of(x, begin, count), merged, bench->parameters,
                            part_of(merged_y, begin, count), bench->workspace)
                    .ok());
    ASSERT_TRUE(bench->primitive
                    ->Gradients(part_of(x, begin, count), part_of(dy, begin, count), merged,
                                bench->parameters, bench->gradients, bench->workspace)
                    .ok());
    for (size_t c = 0; c < 3; ++c) {
      dgamma[c] += Values(bench->gradients.gamma)[c];
      dbeta[c] += Values(bench->gradients.beta)[c];
    }
  }
  const BatchNormGradients sums = {TensorOf(GetParam(), {3}, dgamma),
                                   TensorOf(GetParam(), {3}, dbeta)};
  for (const auto& [bench, begin, count] : {std::tuple(&one, 0, 3), std::tuple(&other, 3, 4)}) {
    ASSERT_TRUE(bench->primitive
                    ->BackwardData(part_of(x, begin, count), part_of(dy, begin, count), merged,
                                   bench->parameters, sums, 7, part_of(merged_dx, begin, count),
                                   false, bench->workspace)
                    .ok());
  }
  const double bound = 100 * Epsilon(GetParam());
  EXPECT_TRUE(Close(merged_y, y, bound));
  EXPECT_TRUE(Close(merged_dx, dx, bound));
}

TEST_P(BatchNormTest, RefusesWhatDoesNotFit) {
  Bench bench = Make(Image(TensorFormat::kNHWC, 2, 3, 3, 4));
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

TEST(BatchNormReferenceTest, GradientsAreTheCentralDifferences) {
  for (const bool relu : {false, true}) {
    const reference::BatchNorm op = {3, 2, 2, 1e-5, relu, {.8, -1.2}, {.1, .3}};
    const Doubles x = Values(RandomTensor(DType::kFloat64, {12}, 1));
    const Doubles dy = Values(RandomTensor(DType::kFloat64, {12}, 2));
    Doubles dgamma, dbeta, dx;
    op.Backward(x, dy, dgamma, dbeta, dx);
    const auto objective = [&](const reference::BatchNorm& at, const Doubles& values) {
      Doubles mean, variance;
      at.Statistics(values, mean, variance);
      const Doubles y = at.Apply(values, mean, variance);
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
      return sum;
    };
    constexpr double kStep = 1e-5;
    for (size_t i = 0; i < x.size(); ++i) {
      Doubles up = x, down = x;
      up[i] += kStep;
      down[i] -= kStep;
      EXPECT_NEAR(dx[i], (objective(op, up) - objective(op, down)) / (2 * kStep), 1e-8);
    }
    for (size_t c = 0; c < 2; ++c) {
      reference::BatchNorm up = op, down = op;
      up.gamma[c] += kStep;
      down.gamma[c] -= kStep;
      EXPECT_NEAR(dgamma[c], (objective(up, x) - objective(down, x)) / (2 * kStep), 1e-8);
      up = down = op;
      up.beta[c] += kStep;
      down.beta[c] -= kStep;
      EXPECT_NEAR(dbeta[c], (objective(up, x) - objective(down, x)) / (2 * kStep), 1e-8);
    }
  }
}

}  // namespace
}  // namespace dtnn
