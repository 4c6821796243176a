#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/plan_session.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Labels;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Nodes in the order of execution: 0 input, 1 convolution and 2 relu, 3 convolution in the first
// path, whose output is a part of the concatenation, 4 tanh in the second, 5 concatenation, 6
// flatten, 7 FC, 8 softmax. Ids differ: the block comes before its paths.
class PlanNonFiniteTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static Graph Make() {
    GraphBuilder b("finite", GetParam());
    b.Input({4, 4, 2}).Conv2d(3, {.padding = 1}).Relu();
    b.Concat(
        {[](GraphBuilder& p) { p.Conv2d(2, {.padding = 1}); }, [](GraphBuilder& p) { p.Tanh(); }});
    b.Flatten().Fc(4).Softmax();
    return *b.Build();
  }
  // The value of a parameter, changed.
  void Set(int node, int parameter, int64_t element, float value) {
    run_.store->Value(node, parameter).data<float>()[element] = value;
    run_.store->MarkChanged();
  }
  std::string First(const Tensor& x) {
    const auto found = run_.plan->FirstNonFinite(x, Labels(3), 0);
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }
  std::string First() { return First(x_); }

  PlanSession run_{Make(), 5, DType::kFloat32};
  const Tensor x_ = RandomTensor(DType::kFloat32, SampleShape({4, 4, 2}, GetParam()).Prepend(3), 1);
};
INSTANTIATE_TEST_SUITE_P(Formats, PlanNonFiniteTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PlanNonFiniteTest, NothingWhereAllIsFinite) {
  ASSERT_TRUE(run_.plan->ForwardBackward(x_, Labels(3), 1, 0).ok());
  const double loss = run_.plan->LossSum();
  EXPECT_EQ(First(), "");
  EXPECT_EQ(run_.plan->LossSum(), loss);
}

TEST_P(PlanNonFiniteTest, InTheBatch) {
  x_.data<float>()[2 * 32 + 5] = kNan;
  EXPECT_EQ(First(), "the batch: sample 2 contains nan");
}

TEST_P(PlanNonFiniteTest, InAParameter) {
  Set(7, 1, 3, -kInfinity);
  EXPECT_EQ(First(), "layer 7 (FC): -inf in biases");
  Set(3, 0, 50, kNan);
  EXPECT_EQ(First(), "layer 4 (Conv2D): nan in weights");
}

TEST_P(PlanNonFiniteTest, AnOverflowIsWhereItHappensFirst) {
  // Large, but finite, behind the first convolution.
  for (int64_t i = 0; i < 3; ++i) Set(1, 1, i, 3e38f);
  for (int64_t i = 0; i < 54; ++i) Set(3, 0, i, 1.0f);
  EXPECT_EQ(First(), "layer 4 (Conv2D): output of sample 0 contains inf");
  ASSERT_TRUE(run_.plan->ForwardBackward(x_, Labels(3), 1, 0).ok());
  EXPECT_FALSE(std::isfinite(run_.plan->LossSum()));
}

TEST_P(PlanNonFiniteTest, TheSampleConcernedIsNamed) {
  // Only the last sample has an input large enough.
  for (int64_t i = 0; i < 54; ++i) Set(1, 0, i, 1.0f);
  for (int64_t i = 0; i < 32; ++i) x_.data<float>()[2 * 32 + i] = 3e38f;
  EXPECT_EQ(First(), "layer 1 (Conv2D): output of sample 2 contains inf");
}

TEST_P(PlanNonFiniteTest, EvaluationPlansTellToo) {
  const auto evaluation = run_.Compile(3, /*training=*/false);
  Set(1, 0, 0, kNan);
  EXPECT_EQ(*evaluation->FirstNonFinite(x_, Labels(3), 0), "layer 1 (Conv2D): nan in weights");
}

}  // namespace
}  // namespace dtnn
