// The backward pass, and the room between the steps for an exchange between ranks.

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/reference.h"
#include "kernels/batch_norm/testing/bench.h"
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
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::Vectors;
using testing::ZeroTensor;

TEST_P(BatchNormTest, NaNInAnyOperandComesOutOfGradients) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.shape.ToString());
    const Tensor nans = NaNTensor(GetParam(), c.shape);
    for (const bool relu : {false, true}) {
      for (const bool in_x : {false, true}) {
        const Tensor x = in_x ? nans : Input(c), dy = in_x ? Input(c) : nans;
        BatchNormBench bench = Make(c, relu);
        bench.Forward(x, ZeroTensor(GetParam(), c.shape));
        Doubles dgamma, dbeta, expected;
        bench.reference.Backward(Values(x), Values(dy), dgamma, dbeta, expected);
        const Tensor dx = ZeroTensor(GetParam(), c.shape);
        bench.Backward(x, dy, dx, false);
        EXPECT_TRUE(KeepsNaN(Values(bench.gradients.gamma), dgamma)) << relu << in_x;
        EXPECT_TRUE(KeepsNaN(Values(dx), expected)) << relu << in_x;
        if (!in_x) {
          EXPECT_TRUE(KeepsNaN(Values(bench.gradients.beta), dbeta)) << relu;
        }
      }
    }
  }
}

TEST_P(BatchNormTest, BackwardEqualsReferenceDensePitchedAndInPlace) {
  for (const Case& c : Cases()) {
    if (c.outer * c.inner < 3) continue;  // two close samples have no sensible bound
    for (const bool relu : {false, true}) {
      const Tensor x = Input(c), dy = RandomTensor(GetParam(), c.shape, 2);
      BatchNormBench bench = Make(c, relu);
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
}

TEST_P(BatchNormTest, BackwardOfInferEqualsReferenceDensePitchedAndInPlace) {
  for (const Case& c : Cases()) {
    for (const bool relu : {false, true}) {
      const Tensor x = Input(c), dy = RandomTensor(GetParam(), c.shape, 2);
      BatchNormBench bench = Make(c, relu);
      bench.running.mean.tensor = RandomTensor(GetParam(), {c.channels}, 13);
      bench.running.variance.tensor = RandomTensor(GetParam(), {c.channels}, 14);  // some below 0
      Doubles expected =
          bench.reference.BackwardInfer(Values(x), Values(dy), Values(bench.running.mean.tensor),
                                        Values(bench.running.variance.tensor));
      // The largest factor is that of a variance of 0.
      const double bound = 500 * Epsilon(GetParam());
      const auto backward = [&](const Tensor& dy_in, const Tensor& dx, bool accumulate) {
        EXPECT_TRUE(bench.primitive
                        ->BackwardInfer(Pitched(x, c.format), Tensor(), dy_in, bench.parameters,
                                        bench.running, dx, accumulate, bench.workspace)
                        .ok());
        EXPECT_TRUE(Close(Values(dx, c.format), expected, bound, bound))
            << c.shape.ToString() << relu << accumulate;
      };
      backward(Pitched(dy, c.format), Pitched(ZeroTensor(GetParam(), c.shape), c.format), false);
      const Tensor in_place = TensorOf(GetParam(), c.shape, Values(dy));
      backward(in_place, in_place, false);
      const Tensor ones = TensorOf(GetParam(), c.shape, Doubles(expected.size(), 1.0));
      for (double& value : expected) value += 1;
      backward(dy, ones, true);
    }
  }
}

// The gradient of Infer has no term of x: an infinite one leaves it finite.
TEST_P(BatchNormTest, AnInfiniteInputStaysOutOfTheGradientOfInference) {
  for (const Case& c : Cases()) {
    BatchNormBench bench = Make(c);
    bench.running.mean.tensor = RandomTensor(GetParam(), {c.channels}, 13);
    const Tensor dy = RandomTensor(GetParam(), c.shape, 2);
    const auto backward = [&](const Tensor& x) {
      const Tensor dx = ZeroTensor(GetParam(), c.shape);
      EXPECT_TRUE(bench.primitive
                      ->BackwardInfer(x, Tensor(), dy, bench.parameters, bench.running, dx, false,
                                      bench.workspace)
                      .ok());
      return Values(dx);
    };
    const Tensor x = Input(c);
    Doubles values = Values(x);
    values[values.size() / 2] = std::numeric_limits<double>::infinity();
    EXPECT_EQ(backward(TensorOf(GetParam(), c.shape, values)), backward(x)) << c.shape.ToString();
  }
}

// The mask of a relu must be that of the forward pass, to the bit, wherever an element stands in a
// vector: with beta = 0 half of the outputs are near 0.
TEST_P(BatchNormTest, ReluMaskOfBackwardIsThatOfForward) {
  for (const Case& c : Cases()) {
    BatchNormBench bench = Make(c, /*relu=*/true);
    bench.parameters.beta.tensor = ZeroTensor(GetParam(), {c.channels});
    bench.parameters.gamma.tensor =
        TensorOf(GetParam(), {c.channels}, Doubles(size_t(c.channels), 1));
    const Tensor x = IntegerTensor(GetParam(), c.shape, 3, 1), y = ZeroTensor(GetParam(), c.shape);
    bench.Forward(x, y);
    // dy is 1 everywhere: dbeta counts the elements that take part.
    const Doubles outputs = Values(y);
    double positive = 0;
    for (const double output : outputs) positive += output > 0;
    const Tensor dy = TensorOf(GetParam(), c.shape, Doubles(outputs.size(), 1));
    ASSERT_TRUE(bench.primitive
                    ->Gradients(Pitched(x, c.format), Tensor(), dy, bench.statistics,
                                bench.parameters, bench.gradients, bench.workspace)
                    .ok());
    double counted = 0;
    for (const double beta : Values(bench.gradients.beta)) counted += beta;
    EXPECT_EQ(counted, positive) << c.shape.ToString();
  }
}

// Ranks would merge their statistics between the two steps of the forward pass, and add up their
// gradients between the two of the backward pass: together they do what one does with all samples.
TEST_P(BatchNormTest, StepsLeaveRoomForAnExchange) {
  const Case whole = Vectors(7, 3);
  const Tensor x = Input(whole), dy = RandomTensor(GetParam(), whole.shape, 2);
  BatchNormBench all = Make(whole);
  const Tensor y = ZeroTensor(GetParam(), whole.shape), dx = ZeroTensor(GetParam(), whole.shape);
  all.Forward(x, y);
  all.Backward(x, dy, dx, false);
  const auto part_of = [&](const Tensor& tensor, int64_t begin, int64_t count) {
    return tensor.Samples(begin, count, TensorFormat::kNHWC);
  };
  BatchNormBench one = Make(whole), other = Make(whole);
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
                    ->Apply(part_of(x, begin, count), merged, bench->parameters, Tensor(),
                            part_of(merged_y, begin, count), bench->workspace)
                    .ok());
    ASSERT_TRUE(bench->primitive
                    ->Gradients(part_of(x, begin, count), Tensor(), part_of(dy, begin, count),
                                merged, bench->parameters, bench->gradients, bench->workspace)
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

INSTANTIATE_TEST_SUITE_P(, BatchNormTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

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
