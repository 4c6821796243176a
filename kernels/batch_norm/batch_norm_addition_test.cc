// With an addend the steps do, to the bit, what the steps without it do with an addition and a relu
// between them.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/reference.h"
#include "kernels/batch_norm/testing/bench.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::BatchNormTest;
using testing::Case;
using testing::Cases;
using testing::Doubles;
using testing::Image;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

class BatchNormAdditionTest : public BatchNormTest {
 protected:
  Tensor Copy(const Tensor& tensor) const {
    return TensorOf(GetParam(), tensor.shape(), Values(tensor));
  }
  Tensor Of(const Case& c, const Doubles& values) const {
    return TensorOf(GetParam(), c.shape, values);
  }
  // y + addend as the type rounds it, and cut.
  Tensor Sum(const Case& c, const Tensor& y, const Tensor& addend, bool relu) const {
    Doubles sums = Values(y);
    const Doubles added = Values(addend);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += added[i];
    sums = Values(Of(c, sums));
    for (double& sum : sums) sum = relu && sum < 0 ? 0 : sum;
    return Of(c, sums);
  }
  // Cases without the largest: values are copied element by element here.
  std::vector<Case> SmallCases() const {
    std::vector<Case> small;
    for (const Case& c : Cases()) {
      if (c.shape.NumElements() < 3000) small.push_back(c);
    }
    return small;
  }
};

TEST_P(BatchNormAdditionTest, ForwardAddsBeforeTheRelu) {
  for (const Case& c : SmallCases()) {
    for (const bool relu : {false, true}) {
      const Tensor x = Input(c), addend = RandomTensor(GetParam(), c.shape, 3);
      auto plain = Make(c), fused = Make(c, relu, /*add=*/true);
      const Tensor y = ZeroTensor(GetParam(), c.shape);
      plain.Forward(x, y);
      const Doubles expected = Values(Sum(c, y, addend, relu));
      ASSERT_TRUE(plain.Infer(x, y).ok());
      const Doubles inferred = Values(Sum(c, y, addend, relu));
      const auto check = [&](const Tensor& in, const Tensor& added, const Tensor& out) {
        ASSERT_TRUE(fused.primitive
                        ->Apply(in, plain.statistics, plain.parameters, added, out, fused.workspace)
                        .ok());
        EXPECT_EQ(Values(out, c.format), expected) << c.shape.ToString() << relu;
      };
      check(x, addend, y);
      check(Pitched(x, c.format), Pitched(addend, c.format), Pitched(y, c.format));
      const Tensor over_x = Copy(x), over_addend = Copy(addend);
      check(over_x, addend, over_x);
      check(x, over_addend, over_addend);
      ASSERT_TRUE(fused.Infer(Pitched(x, c.format), y, addend).ok());
      EXPECT_EQ(Values(y), inferred) << c.shape.ToString() << relu;
    }
  }
}

TEST_P(BatchNormAdditionTest, BackwardCutsDyOnceWhereItStands) {
  for (const Case& c : SmallCases()) {
    for (const bool relu : {false, true}) {
      for (const bool pitched : {false, true}) {
        SCOPED_TRACE(c.shape.ToString() + (relu ? " relu" : "") + (pitched ? " pitched" : ""));
        const auto view = [&](const Tensor& of) { return pitched ? Pitched(of, c.format) : of; };
        const Tensor x = Input(c), addend = RandomTensor(GetParam(), c.shape, 3);
        auto plain = Make(c), fused = Make(c, relu, /*add=*/true);
        const Tensor y = view(ZeroTensor(GetParam(), c.shape));
        plain.Forward(x, y);
        fused.Forward(x, y, addend);
        const Doubles uncut = Values(RandomTensor(GetParam(), c.shape, 2));
        const Doubles cut = relu ? reference::BatchNorm::Cut(Values(y, c.format), uncut) : uncut;
        const Tensor dx = view(ZeroTensor(GetParam(), c.shape));
        for (const bool accumulate : {false, true}) {
          const Tensor dy = view(Of(c, uncut)), expected = view(ZeroTensor(GetParam(), c.shape));
          if (accumulate) plain.Backward(x, view(Of(c, cut)), expected, false);
          plain.Backward(x, view(Of(c, cut)), expected, accumulate);
          fused.Backward(x, dy, dx, accumulate, relu ? y : Tensor());
          EXPECT_EQ(Values(dy, c.format), cut);
          EXPECT_EQ(Values(dx, c.format), Values(expected, c.format));
          EXPECT_EQ(Values(fused.gradients.gamma), Values(plain.gradients.gamma));
          EXPECT_EQ(Values(fused.gradients.beta), Values(plain.gradients.beta));
        }
        const auto infer = [&](auto& bench, const Tensor& dy, const Tensor& dx) {
          return bench.primitive->BackwardInfer(x, bench.spec.cuts_by_output() ? y : Tensor(), dy,
                                                bench.parameters, bench.running, dx, false,
                                                bench.workspace);
        };
        const Tensor dy = view(Of(c, uncut)), expected = ZeroTensor(GetParam(), c.shape);
        EXPECT_EQ(infer(plain, Of(c, cut), expected), absl::OkStatus());
        EXPECT_EQ(infer(fused, dy, dx), absl::OkStatus());
        EXPECT_EQ(Values(dx, c.format), Values(expected));
        EXPECT_EQ(Values(dy, c.format), cut);
        if (!relu) continue;
        const Tensor only = view(Of(c, uncut));
        EXPECT_EQ(infer(fused, only, Tensor()), absl::OkStatus());
        EXPECT_EQ(Values(only, c.format), cut) << "without a gradient of x";
      }
    }
  }
}

// As in a relu of its own.
TEST_P(BatchNormAdditionTest, NaNInOutputOrGradientStaysOne) {
  const Case c = Image(TensorFormat::kNCHW, 2, 3, 7, 5);
  for (const bool in_y : {false, true}) {
    auto fused = Make(c, /*relu=*/true, /*add=*/true);
    const Tensor x = Input(c), y = ZeroTensor(GetParam(), c.shape);
    fused.Forward(x, y, RandomTensor(GetParam(), c.shape, 3));
    Doubles values = Values(in_y ? y : x);
    for (const size_t i : {size_t(3), values.size() - 1}) {
      values[i] = std::numeric_limits<double>::quiet_NaN();
    }
    const Tensor nans = Of(c, values), dy = in_y ? RandomTensor(GetParam(), c.shape, 2) : nans;
    ASSERT_EQ(fused.primitive->Gradients(x, in_y ? nans : y, dy, fused.statistics, fused.parameters,
                                         fused.gradients, fused.workspace),
              absl::OkStatus());
    const Doubles cut = Values(dy);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(std::isnan(cut[i]), std::isnan(values[i])) << i << in_y;
    }
    EXPECT_TRUE(std::isnan(Values(fused.gradients.beta)[0]));
  }
}

TEST_P(BatchNormAdditionTest, SameBitsOnAnyNumberOfThreads) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Case c = Image(format, 6, 20, 28, 24);
    std::vector<Doubles> first;
    for (const int threads : {1, 2, 5}) {
      SetNumThreads(threads);
      auto fused = Make(c, /*relu=*/true, /*add=*/true);
      const Tensor x = Input(c), y = ZeroTensor(GetParam(), c.shape);
      const Tensor dy = RandomTensor(GetParam(), c.shape, 2), dx = ZeroTensor(GetParam(), c.shape);
      fused.Forward(x, y, RandomTensor(GetParam(), c.shape, 3));
      fused.Backward(x, dy, dx, false, y);
      const std::vector<Doubles> now = {Values(y), Values(dy), Values(dx),
                                        Values(fused.gradients.gamma),
                                        Values(fused.gradients.beta)};
      if (first.empty()) first = now;
      EXPECT_EQ(now, first) << threads;
    }
  }
}

TEST_P(BatchNormAdditionTest, RefusesWhatDoesNotFit) {
  const Case c = Image(TensorFormat::kNHWC, 2, 3, 7, 5);
  auto fused = Make(c, /*relu=*/true, /*add=*/true);
  const Tensor x = Input(c), y = ZeroTensor(GetParam(), c.shape), none;
  const Tensor other = ZeroTensor(GetParam(), {2, 3, 7, 4});
  for (const Tensor& wrong : {none, other}) {
    EXPECT_EQ(fused.Infer(x, y, wrong).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(
        fused.primitive->Apply(x, fused.statistics, fused.parameters, wrong, y, fused.workspace)
            .code(),
        absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(fused.primitive
                  ->Gradients(x, wrong, y, fused.statistics, fused.parameters, fused.gradients,
                              fused.workspace)
                  .code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(
        fused.primitive
            ->BackwardInfer(x, wrong, y, fused.parameters, fused.running, x, false, fused.workspace)
            .code(),
        absl::StatusCode::kInvalidArgument);
  }
}

INSTANTIATE_TEST_SUITE_P(, BatchNormAdditionTest,
                         ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
