// Random convolutions of every variant against the reference, with a fence beside every operand,
// the workspace and what is kept of the filter.

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "tools/testing/random_cases.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using conv::Direction;
using testing::Close;
using testing::Conv2dRunner;
using testing::RandomCase;
using testing::RandomCases;
using testing::SumTolerance;
using testing::Values;
using testing::WhereSupported;
using Doubles = std::vector<double>;

constexpr double kMostProducts = 3e5;  // of one direction, for the reference is slow

Conv2dSpec RandomSpec(RandomCase& random) {
  const auto pair = [&](int64_t most) {
    const int64_t one = random.Between(1, most);
    return random.Flip() ? Pair(one) : Pair(one, random.Between(1, most));
  };
  for (;;) {
    Conv2dSpec spec;
    spec.batch = random.Between(1, random.Seldom(6) ? 30 : 4);
    spec.height = random.Between(1, 16);
    spec.width = random.Between(1, random.Seldom(6) ? 70 : 16);
    spec.channels = random.Between(1, random.Seldom(3) ? 70 : 12);
    spec.filters = random.Between(1, random.Seldom(3) ? 70 : 12);
    if (random.Seldom(4)) {
      spec.groups = random.Between(1, 9);
      spec.channels = spec.groups * random.Between(1, 6);
      spec.filters = spec.groups * random.Between(1, 6);
    } else if (random.Seldom(4)) {
      spec.groups = spec.filters = spec.channels;  // depthwise
    }
    spec.kernel = random.Flip() ? Pair(3) : random.Seldom(4) ? Pair(1) : pair(5);
    if (random.Seldom(3)) spec.stride = pair(4);
    if (random.Seldom(3)) spec.dilation = pair(4);
    if (random.Flip()) {
      const int64_t most = random.Seldom(8) ? 9 : 2;
      spec.padding = {random.Between(0, most), random.Between(0, most)};
    }
    spec.format = random.Format();
    if (random.Seldom(6)) spec.filter_format = random.Format();
    spec.dtype = random.Floating();
    if (spec.Validate().ok() && spec.Flops() / 2 <= kMostProducts) return spec;
  }
}

Doubles Plus(bool accumulate, const Doubles& before, Doubles sums) {
  for (size_t i = 0; i < sums.size() && accumulate; ++i) sums[i] += before[i];
  return sums;
}

TEST(RandomConv2dTest, EveryDirectionEqualsTheReference) {
  const std::vector<std::string_view> names = Conv2dVariantNames();
  for (RandomCases cases(100); RandomCase* random = cases.Next();) {
    Conv2dSpec spec = RandomSpec(*random);
    spec.epilogue = {random->Flip(), random->Flip(), random->Flip(), random->Flip()};
    const std::string_view name = random->PickFrom(names);
    const bool accumulate = random->Flip(), with_bias = random->Flip();
    random->Name(std::string(name) + " " + spec.ToString());
    const Conv2dVariants variants = WhereSupported(name, spec);
    const Conv2dUse use = {.keeps_filter = random->Flip()};
    random->SetThreads();  // the primitive is made for them
    Conv2dRunner runner(spec, variants, use);
    if (HasFailure()) return;
    const uint64_t version = uint64_t(random->Between(0, 1));
    spec.batch = random->Between(1, spec.batch);  // of the calls

    const auto operand = [&](const Shape& shape) {
      return random->Operand(spec.dtype, shape, spec.format);
    };
    const auto dense = [&](const Shape& shape) { return random->Dense(spec.dtype, shape); };
    const auto of = [&](const Tensor& tensor) { return Values(tensor, spec.format); };
    // As conv2d_test.cc derives them; small integers are up to 4.
    const auto tolerance = [&](int64_t terms, Direction direction) {
      const double error = Conv2dError(variants[direction], spec, direction);
      if (random->integers() && error <= 1) return 0.;
      return (random->integers() ? 16 : 1) * SumTolerance(spec.dtype, terms) *
             (1 + .4 * std::sqrt(double(terms))) * std::max(1., error);
    };
    const int64_t taps = spec.kernel.vertical * spec.kernel.horizontal;

    const Tensor x = operand(spec.InputShape()), w = dense(spec.FilterShape());
    const Tensor y = operand(spec.OutputShape());
    const EpilogueOperands operands = {.bias = dense({spec.filters}),
                                       .scale = dense({spec.filters}),
                                       .addend = operand(spec.OutputShape())};
    runner.Forward(x, w, y, operands, version);
    const Doubles expected =
        reference::ApplyEpilogue(spec, reference::Conv2dForward(spec, of(x), of(w)),
                                 of(operands.bias), of(operands.scale), of(operands.addend));
    // Scales of up to 4 scale errors too; what is added after them is rounded.
    const double rounding = random->integers() ? 0 : SumTolerance(spec.dtype, 4);
    ASSERT_TRUE(
        Close(of(y), expected,
              4 * tolerance(spec.channels / spec.groups * taps, Direction::kForward) + rounding));

    const Tensor dy = operand(spec.OutputShape()), dx = operand(spec.InputShape());
    const Doubles dx_before = of(dx);
    runner.BackwardData(dy, w, dx, accumulate, version);
    ASSERT_TRUE(Close(
        of(dx), Plus(accumulate, dx_before, reference::Conv2dBackwardData(spec, of(dy), of(w))),
        tolerance(spec.filters / spec.groups * taps, Direction::kBackwardData) + rounding));

    const Tensor dw = dense(spec.FilterShape());
    const Tensor dbias = with_bias ? dense({spec.filters}) : Tensor();
    const Doubles dw_before = of(dw), dbias_before = with_bias ? of(dbias) : Doubles();
    runner.BackwardFilter(x, dy, dw, dbias, accumulate);
    const int64_t pixels = spec.batch * spec.out_height() * spec.out_width();
    const double bound = tolerance(pixels, Direction::kBackwardFilter) + rounding;
    ASSERT_TRUE(Close(
        of(dw), Plus(accumulate, dw_before, reference::Conv2dBackwardFilter(spec, of(x), of(dy))),
        bound));
    if (!with_bias) continue;
    ASSERT_TRUE(Close(of(dbias),
                      Plus(accumulate, dbias_before, reference::Conv2dBackwardBias(spec, of(dy))),
                      random->integers() ? 0 : bound));
  }
}

}  // namespace
}  // namespace dtnn
