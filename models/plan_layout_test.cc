#include "models/plan_layout.h"

#include <vector>

#include "gtest/gtest.h"
#include "models/builder.h"

namespace dtnn {
namespace {

constexpr int kConv = 1, kPool = 2, kFlatten = 3, kFc = 4, kSoftmax = 5, kNodes = 6;

class PlanLayoutTest : public ::testing::Test {
 protected:
  PlanLayoutTest() {
    GraphBuilder b("chain", TensorFormat::kNHWC);
    b.Input({4, 4, 1}).Conv2d(2, {.padding = 1}).MaxPool2d({.stride = 2}).Flatten().Fc(3).Softmax();
    graph_ = *b.Build();
    traits_.resize(kNodes);
    traits_[kConv] = traits_[kFc] = {.backward_reads_input = true};
    traits_[kPool].state_shape = Shape{2, 2, 2};
    traits_[kFlatten] = {.is_view = true, .backward_in_place = 0};
    traits_[kSoftmax] = {
        .backward_reads_output = true, .forward_in_place = true, .backward_in_place = 0};
  }

  PlanLayout Make(bool training) const {
    return MakePlanLayout(graph_, traits_, std::vector<uint8_t>(kNodes, 0),
                          {.batch = 7, .training = training, .loss_takes_logits = true});
  }

  Graph graph_;
  std::vector<LayerOpTraits> traits_;
};

TEST_F(PlanLayoutTest, ValuesLiveFromTheirWriterToTheirLastReader) {
  const PlanLayout layout = Make(/*training=*/true);
  const auto expect = [&](int buffer, size_t bytes, int first, int last) {
    ASSERT_GE(buffer, 0);
    const PlannedBuffer& planned = layout.buffers[size_t(buffer)];
    EXPECT_EQ(planned.bytes, bytes);
    EXPECT_EQ(planned.first, first);
    EXPECT_EQ(planned.last, last);
  };
  const int loss = kNodes, end = 2 * kNodes + 1;
  const auto backward = [](int node) { return 2 * kNodes - node; };
  expect(layout.activation[kConv], 7 * 32 * 4, kConv, kPool);
  expect(layout.activation[kPool], 7 * 8 * 4, kPool, backward(kFc));
  expect(layout.state[kPool], 7 * 8, kPool, backward(kPool));
  expect(layout.activation[kFc], 7 * 3 * 4, kFc, end);
  expect(layout.losses, 7 * 4, loss, end);
  expect(layout.gradient[kFc], 7 * 3 * 4, loss, backward(kFc));
  expect(layout.gradient[kPool], 7 * 8 * 4, backward(kFc), backward(kPool));
  expect(layout.gradient[kConv], 7 * 32 * 4, backward(kPool), backward(kConv));
}

TEST_F(PlanLayoutTest, ViewsAndOpsInPlaceShareMemory) {
  const PlanLayout layout = Make(/*training=*/true);
  EXPECT_EQ(layout.activation[0], PlanLayout::kBatch);
  EXPECT_EQ(layout.activation[kFlatten], layout.activation[kPool]);
  EXPECT_EQ(layout.gradient[kFlatten], layout.gradient[kPool]);
  EXPECT_EQ(layout.activation[kSoftmax], layout.activation[kFc]);
  EXPECT_EQ(layout.gradient[0], PlanLayout::kNone);
}

TEST_F(PlanLayoutTest, EvaluationKeepsNothingForABackwardPass) {
  const PlanLayout layout = Make(/*training=*/false);
  EXPECT_EQ(layout.gradient, std::vector<int>(kNodes, PlanLayout::kNone));
  EXPECT_EQ(layout.state, std::vector<int>(kNodes, PlanLayout::kNone));
  EXPECT_LT(layout.arena_bytes, Make(/*training=*/true).arena_bytes);
}

}  // namespace
}  // namespace dtnn
