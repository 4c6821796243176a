// Random batch normalisations against the reference, with a fence beside every operand and
// workspace.

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/reference.h"
#include "kernels/batch_norm/testing/bench.h"
#include "tensor/text/str_cat.h"
#include "tools/testing/random_cases.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Case;
using testing::Close;
using testing::Doubles;
using testing::Epsilon;
using testing::FencedWorkspace;
using testing::Image;
using testing::RandomCase;
using testing::RandomCases;
using testing::Values;
using testing::Vectors;

Case RandomImages(RandomCase& random) {
  const bool large = random.Seldom(10);
  const int64_t n = random.Between(2, large ? 20 : 5);
  const int64_t channels = random.Between(1, random.Seldom(8) ? 600 : 40);
  if (random.Seldom(4)) return Vectors(random.Between(2, large ? 300 : 30), channels);
  const int64_t side = large ? 20 : 7;
  return Image(random.Format(), n, random.Between(1, side), random.Between(1, side), channels);
}

TEST(RandomBatchNormTest, EveryStepEqualsTheReference) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (RandomCases cases(100); RandomCase* random = cases.Next();) {
    const Case c = RandomImages(*random);
    const Shape channels = {c.channels};
    BatchNormSpec spec = {.batch = c.shape[0] + random->Between(0, 3),
                          .positions = c.shape.NumElements() / (c.shape[0] * c.channels),
                          .channels = c.channels,
                          .format = c.format,
                          .dtype = random->Floating(),
                          // With less, two close values have gradients without digits.
                          .epsilon = .1,
                          .momentum = .75,
                          .add = random->Flip(),
                          .relu = random->Flip()};
    const bool accumulate = random->Flip();
    random->Name(StrCat(Name(spec.dtype), " ", Name(spec.format), " ", c.shape.ToString(),
                        spec.add ? " add" : "", spec.relu ? " relu" : "",
                        accumulate ? " accumulate" : ""));
    random->SetThreads();
    const auto norm = *CreateBatchNorm(*context, spec);
    const FencedWorkspace workspace = random->Workspace(norm->workspace_bytes());
    const auto operand = [&] { return random->Operand(spec.dtype, c.shape, c.format); };
    const auto vector = [&] { return random->Dense(spec.dtype, channels); };
    const auto of = [&](const Tensor& tensor) { return Values(tensor, c.format); };
    const double bound = 500 * Epsilon(spec.dtype);

    const Tensor x = operand(), addend = spec.add ? operand() : Tensor();
    const Doubles added = spec.add ? of(addend) : Doubles();
    const BatchNormParameters parameters = {{vector(), 1}, {vector(), 1}};
    const RunningStatistics running = {{vector(), 1}, {vector(), 1}};
    const BatchStatistics statistics = {random->Dense(DType::kFloat64, channels),
                                        random->Dense(DType::kFloat64, channels)};
    const reference::BatchNorm reference = {c.outer,
                                            c.channels,
                                            c.inner,
                                            spec.epsilon,
                                            spec.relu,
                                            of(parameters.gamma.tensor),
                                            of(parameters.beta.tensor)};
    Doubles mean, variance;
    reference.Statistics(of(x), mean, variance);
    ASSERT_EQ(norm->Statistics(x, statistics, workspace), absl::OkStatus());
    ASSERT_TRUE(Close(of(statistics.mean), mean, bound));
    ASSERT_TRUE(Close(of(statistics.variance), variance, bound, bound));

    // The reference takes the statistics that the primitive found: a relu cuts in the same places.
    mean = of(statistics.mean), variance = of(statistics.variance);
    const Tensor y = operand();
    ASSERT_EQ(norm->Apply(x, statistics, parameters, addend, y, workspace), absl::OkStatus());
    ASSERT_TRUE(Close(of(y), reference.Apply(of(x), mean, variance, added), bound, bound));

    const Doubles old_mean = of(running.mean.tensor), old_variance = of(running.variance.tensor);
    ASSERT_EQ(norm->Track(statistics, running), absl::OkStatus());
    Doubles tracked_mean(old_mean), tracked_variance(old_variance);
    for (size_t i = 0; i < mean.size(); ++i) {
      tracked_mean[i] = .75 * old_mean[i] + .25 * mean[i];
      tracked_variance[i] = .75 * old_variance[i] + .25 * variance[i];
    }
    ASSERT_TRUE(Close(of(running.mean.tensor), tracked_mean, bound));
    ASSERT_TRUE(Close(of(running.variance.tensor), tracked_variance, bound));

    const Doubles running_mean = of(running.mean.tensor);
    const Doubles running_variance = of(running.variance.tensor);
    const Tensor inferred = operand();
    ASSERT_EQ(norm->Infer(x, parameters, running, addend, inferred, workspace), absl::OkStatus());
    ASSERT_TRUE(Close(of(inferred), reference.Apply(of(x), running_mean, running_variance, added),
                      bound, bound));

    // After an addition the relu cuts by the output, and what is left has none.
    auto backward = reference;
    backward.relu = spec.relu && !spec.add;
    const auto cut = [&](const Tensor& output, const Tensor& gradient) {
      return spec.cuts_by_output() ? reference.Cut(of(output), of(gradient)) : of(gradient);
    };
    // Where a relu nearly cuts, reference and primitive may disagree about an element.
    const auto near_the_cut = [&](const Doubles& of_mean, const Doubles& of_variance) {
      auto line = reference;
      line.relu = false;
      const Doubles outputs = line.Apply(of(x), of_mean, of_variance);
      return backward.relu &&
             std::ranges::any_of(outputs, [&](double out) { return std::abs(out) < bound; });
    };
    const Tensor dy = operand();
    if (!near_the_cut(mean, variance)) {
      const BatchNormGradients gradients = {vector(), vector()};
      Doubles dgamma, dbeta, expected;
      const Doubles slopes = cut(y, dy);
      backward.Backward(of(x), slopes, dgamma, dbeta, expected);
      ASSERT_EQ(norm->Gradients(x, spec.cuts_by_output() ? y : Tensor(), dy, statistics, parameters,
                                gradients, workspace),
                absl::OkStatus());
      ASSERT_EQ(of(dy), slopes) << "the addend's gradient";
      const double terms = double(c.outer * c.inner);
      ASSERT_TRUE(Close(of(gradients.gamma), dgamma, bound * terms));
      ASSERT_TRUE(Close(of(gradients.beta), dbeta, bound * terms));
      const Tensor dx = operand();
      const Doubles before = of(dx);
      for (size_t i = 0; i < before.size() && accumulate; ++i) expected[i] += before[i];
      ASSERT_EQ(norm->BackwardData(x, dy, statistics, parameters, gradients, c.outer * c.inner, dx,
                                   accumulate, workspace),
                absl::OkStatus());
      ASSERT_TRUE(Close(of(dx), expected, 8 * bound, bound));
    }
    if (!near_the_cut(running_mean, running_variance)) {
      const Doubles slopes = cut(inferred, dy);
      Doubles expected = backward.BackwardInfer(of(x), slopes, running_mean, running_variance);
      const Tensor dx = operand();
      const Doubles before = of(dx);
      for (size_t i = 0; i < before.size() && accumulate; ++i) expected[i] += before[i];
      ASSERT_EQ(norm->BackwardInfer(x, spec.cuts_by_output() ? inferred : Tensor(), dy, parameters,
                                    running, dx, accumulate, workspace),
                absl::OkStatus());
      ASSERT_EQ(of(dy), slopes) << "the addend's gradient";
      ASSERT_TRUE(Close(of(dx), expected, bound, bound));
    }
  }
}

}  // namespace
}  // namespace dtnn
