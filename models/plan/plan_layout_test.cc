#include "models/plan/plan_layout.h"

#include <functional>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"

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
    return MakePlanLayout(graph_, traits_, std::vector<int>(kNodes, -1),
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
  expect(layout.activation[kConv].buffer, 7 * 32 * 4, kConv, kPool);
  expect(layout.activation[kPool].buffer, 7 * 8 * 4, kPool, backward(kFc));
  expect(layout.state[kPool], 7 * 8, kPool, backward(kPool));
  expect(layout.activation[kFc].buffer, 7 * 3 * 4, kFc, end);
  expect(layout.losses, 7 * 4, loss, end);
  expect(layout.gradient[kFc].buffer, 7 * 3 * 4, loss, backward(kFc));
  expect(layout.gradient[kPool].buffer, 7 * 8 * 4, backward(kFc), backward(kPool));
  expect(layout.gradient[kConv].buffer, 7 * 32 * 4, backward(kPool), backward(kConv));
}

TEST_F(PlanLayoutTest, ViewsAndOpsInPlaceShareMemory) {
  const PlanLayout layout = Make(/*training=*/true);
  EXPECT_EQ(layout.activation[0].buffer, PlanLayout::kBatch);
  EXPECT_EQ(layout.activation[kFlatten], layout.activation[kPool]);
  EXPECT_EQ(layout.gradient[kFlatten], layout.gradient[kPool]);
  EXPECT_EQ(layout.activation[kSoftmax], layout.activation[kFc]);
  EXPECT_EQ(layout.gradient[0].buffer, PlanLayout::kNone);
}

TEST_F(PlanLayoutTest, MemoryIsSplitAtTheMomentOfMost) {
  // Forward: the pooling, its input (32 values a sample), output (8) and state.
  const PlanMemory forward = Make(/*training=*/false).memory;
  EXPECT_EQ(forward.activations, 7u * (32 + 8) * 4);
  EXPECT_EQ(forward.gradients + forward.state, 0u);
  // Backward: the gradients of these, while the answers and losses wait to be read.
  const PlanMemory training = Make(/*training=*/true).memory;
  EXPECT_EQ(training.activations, 7u * (3 + 1) * 4);
  EXPECT_EQ(training.gradients, 7u * (32 + 8) * 4);
  EXPECT_EQ(training.state, 7u * 8);
  EXPECT_GE(training.arena, training.activations + training.gradients + training.state);
}

TEST_F(PlanLayoutTest, EvaluationKeepsNothingForABackwardPass) {
  const PlanLayout layout = Make(/*training=*/false);
  EXPECT_EQ(layout.gradient, std::vector<PlannedValue>(kNodes));
  EXPECT_EQ(layout.state, std::vector<int>(kNodes, PlanLayout::kNone));
  EXPECT_LT(layout.memory.arena, Make(/*training=*/true).memory.arena);
}

using Build = std::function<void(GraphBuilder&)>;

// Whether the convolution before the first sum, which computes that sum, writes over the other
// term.
bool WritesOverAddend(const Build& build, bool training = false) {
  GraphBuilder b("sums", TensorFormat::kNHWC);
  build(b.Input({4, 4, 2}));
  const Graph graph = *b.Build();
  std::vector<LayerOpTraits> traits(graph.nodes().size());
  std::vector<int> absorber(traits.size(), -1);
  int sum = 0;
  for (size_t i = 1; i < traits.size(); ++i) {
    const std::string_view type = graph.nodes()[i].layer->type_name();
    traits[i].joins_channels = type == "ConcatenationBlock";
    traits[i].forward_over_addend = type == "Conv2D";
    if (type == "AdditionBlock" && sum == 0) sum = int(i);
  }
  const std::vector<int>& terms = graph.nodes()[size_t(sum)].inputs;
  absorber[size_t(sum)] = terms[0];
  const PlanLayout layout =
      MakePlanLayout(graph, traits, absorber, {.batch = 7, .training = training});
  return layout.activation[size_t(terms[0])].buffer == layout.activation[size_t(terms[1])].buffer;
}

TEST(OverAddendTest, OnlyWhatNothingElseNeedsIsOverwritten) {
  const auto same = [](GraphBuilder& p) -> GraphBuilder& { return p.Conv2d(2, {.padding = 1}); };
  const Build one = [&](GraphBuilder&p) { same(p); }, two = [&](GraphBuilder&p) { same(same(p)); };
  const auto itself = GraphBuilder::Identity();
  const Build block = [&](GraphBuilder& b) { same(b).Add({two, itself}).Conv2d(2); };
  EXPECT_TRUE(WritesOverAddend(block));
  EXPECT_FALSE(WritesOverAddend(block, /*training=*/true));
  // The convolution reads its neighbours too,
  EXPECT_FALSE(WritesOverAddend([&](GraphBuilder& b) { same(b).Add({one, itself}).Conv2d(2); }));
  // or reads it as a part of a concatenation,
  const Build joined = [&](GraphBuilder& p) { same(p.Concat({one, itself})); };
  EXPECT_FALSE(WritesOverAddend([&](GraphBuilder& b) { same(b).Add({joined, itself}); }));
  // another layer reads it later,
  const Build sum = [&](GraphBuilder& p) { p.Add({two, itself}).Conv2d(2); };
  EXPECT_FALSE(WritesOverAddend([&](GraphBuilder& b) {
    same(b).Add({sum, [](GraphBuilder& p) { p.Conv2d(2); }});
  }));
  // or it is the batch.
  EXPECT_FALSE(WritesOverAddend([&](GraphBuilder& b) { b.Add({two, itself}); }));
}

// What only a backward pass would read is overwritten where there is none, below the first layer
// that trains.
TEST(FrozenLayoutTest, LayersBelowTheFirstThatTrainsRunInPlace) {
  GraphBuilder b("frozen", TensorFormat::kNHWC);
  b.Input({8, 8, 2}).Conv2d(2).BatchNorm().Tanh().Tanh().Conv2d(2).Tanh().Tanh();
  const Graph graph = *b.Build();
  std::vector<LayerOpTraits> traits(graph.nodes().size());
  traits[1] = traits[5] = {.backward_reads_input = true};
  traits[2] = {.backward_reads_input = true, .forward_in_place = true};
  for (const size_t tanh : {3, 4, 6, 7}) {
    traits[tanh] = {.backward_reads_output = true, .forward_in_place = true};
  }
  // Whether each node but the first shares its input's memory.
  const auto in_place = [&](const Graph& of) {
    const PlanLayout layout = MakePlanLayout(of, traits, std::vector<int>(traits.size(), -1),
                                             {.batch = 7, .training = true});
    std::vector<bool> shared;
    for (size_t i = 1; i < traits.size(); ++i) {
      shared.push_back(layout.activation[i] == layout.activation[i - 1]);
    }
    return shared;
  };
  EXPECT_EQ(in_place(graph), (std::vector<bool>{false, false, true, false, false, true, false}));
  EXPECT_EQ(in_place(*Freeze(graph, "1-4")),
            (std::vector<bool>{false, true, true, true, false, true, false}));
}

// Graphs of convolutions, which read their input in the backward pass; activations, which read
// their output and run in place; and concatenations.
class JoinedLayoutTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static GraphBuilder::Path Conv(int64_t filters) {
    return [=](GraphBuilder& p) { p.Conv2d(filters, {.padding = 1}); };
  }
  PlanLayout Make(GraphBuilder& b, bool training = true) {
    graph_ = *b.Build();
    std::vector<LayerOpTraits> traits;
    for (const Node& node : graph_.nodes()) {
      const std::string_view type = node.layer->type_name();
      LayerOpTraits& of = traits.emplace_back();
      of.backward_reads_input = type == "Conv2D" || type == "FC";
      of.is_view = type == "Flatten" || (type == "Dropout" && !training);
      of.backward_reads_output = of.forward_in_place = type == "Tanh";
      of.joins_channels = type == "ConcatenationBlock";
      of.needs_dense = type == "PixelSlice";
      if (of.is_view || of.forward_in_place || type == "AdditionBlock") of.backward_in_place = 0;
    }
    const PlanLayout layout =
        MakePlanLayout(graph_, traits, std::vector<int>(traits.size(), -1),
                       {.batch = 7, .training = training, .loss_takes_logits = false});
    ExpectAliveWhereUsed(layout, traits, training);
    return layout;
  }
  // Every value lives at every moment at which an op reads or writes it, so that nothing else has
  // its memory then.
  void ExpectAliveWhereUsed(const PlanLayout& layout, const std::vector<LayerOpTraits>& traits,
                            bool training) const {
    const int count = int(graph_.nodes().size());
    for (int i = 1; i < count; ++i) {
      const std::vector<int>& inputs = graph_.nodes()[size_t(i)].inputs;
      ExpectAlive(layout, layout.activation[size_t(i)], i);
      for (const int input : inputs) ExpectAlive(layout, layout.activation[size_t(input)], i);
      if (!training || !layout.needs_gradient[size_t(i)]) continue;
      const LayerOpTraits& of = traits[size_t(i)];
      const int backward = 2 * count - i;
      ExpectAlive(layout, layout.gradient[size_t(i)], backward);
      if (of.backward_reads_output) ExpectAlive(layout, layout.activation[size_t(i)], backward);
      for (const int input : inputs) {
        ExpectAlive(layout, layout.gradient[size_t(input)], backward);
        if (of.backward_reads_input)
          ExpectAlive(layout, layout.activation[size_t(input)], backward);
      }
    }
  }
  static void ExpectAlive(const PlanLayout& layout, const PlannedValue& value, int moment) {
    if (value.buffer < 0) return;  // the batch, or not wanted
    const PlannedBuffer& buffer = layout.buffers[size_t(value.buffer)];
    EXPECT_LE(buffer.first, moment) << "buffer " << value.buffer;
    EXPECT_GE(buffer.last, moment) << "buffer " << value.buffer;
  }
  // Every value is the range of channels from `first` on of the buffer of `whole`, of `channels`.
  static void ExpectPart(const std::vector<PlannedValue>& values, int part, int whole,
                         int64_t first, int64_t channels) {
    EXPECT_EQ(values[size_t(part)], (PlannedValue{values[size_t(whole)].buffer, first, channels}))
        << "node " << part;
  }
  static void ExpectOwnBuffer(const std::vector<PlannedValue>& values, int node) {
    EXPECT_TRUE(values[size_t(node)].dense()) << "node " << node;
    for (size_t i = 0; i < values.size(); ++i) {
      if (int(i) == node) continue;
      EXPECT_NE(values[i].buffer, values[size_t(node)].buffer) << i;
    }
  }

  Graph graph_;
  const GraphBuilder::Path same_ = GraphBuilder::Identity();
};
INSTANTIATE_TEST_SUITE_P(Formats, JoinedLayoutTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(JoinedLayoutTest, ADenseBlockLivesInOneBuffer) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4);                            // 1
  for (int i = 0; i < 3; ++i) b.Concat({Conv(2), same_});  // 2, 3; 4, 5; 6, 7
  const PlanLayout layout = Make(b);
  for (const auto& values : {layout.activation, layout.gradient}) {
    EXPECT_TRUE(values[7].dense());
    ExpectPart(values, 6, 7, 0, 10);
    ExpectPart(values, 5, 7, 2, 10);
    ExpectPart(values, 4, 7, 2, 10);
    ExpectPart(values, 3, 7, 4, 10);
    ExpectPart(values, 2, 7, 4, 10);
    ExpectPart(values, 1, 7, 6, 10);
  }
  // From the first part's writing to the last reading of the whole.
  const PlannedBuffer& buffer = layout.buffers[size_t(layout.activation[7].buffer)];
  EXPECT_EQ(buffer.bytes, 7u * 10 * 2 * 2 * 4);
  EXPECT_EQ(buffer.first, 1);
  EXPECT_EQ(buffer.last, 2 * 8 + 1);
  for (int whole : {3, 5, 7}) {  // their gradients need no adding, but the conv's on the identity
    EXPECT_EQ(layout.accumulate[size_t(whole)], (std::vector<uint8_t>{0, 0}));
    EXPECT_EQ(layout.accumulate[size_t(whole) - 1], std::vector<uint8_t>{1});
  }
}

// What such an op reads or makes, through an op in place, has no gaps, and its gradient neither.
TEST_P(JoinedLayoutTest, DenseValuesAreNoPartsOfAConcatenation) {
  GraphBuilder b("joined", GetParam());
  b.Input({1, 4, 3}).Conv2d(4, {.kernel = 1});
  b.Concat({[](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}); },
            [](GraphBuilder& p) { p.PixelSlice(0, 4); },
            [](GraphBuilder& p) { p.PixelSlice(0, 4).Tanh(); }});
  const PlanLayout layout = Make(b);
  EXPECT_TRUE(layout.activation[1].dense() && layout.gradient[1].dense());
  int slices = 0;
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const std::string_view type = graph_.nodes()[i].layer->type_name();
    if (type == "PixelSlice" || type == "Tanh") {
      EXPECT_TRUE(layout.activation[i].dense()) << i;
    }
    if (type == "PixelSlice") {
      EXPECT_TRUE(layout.gradient[i].dense()) << i;
      ++slices;
    }
  }
  EXPECT_EQ(slices, 2);
}

TEST_P(JoinedLayoutTest, AnOutputStaysForItsOwnBackwardPass) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4, {.padding = 1});         // 1
  b.Add({Conv(4), [](GraphBuilder& p) { p.Tanh(); }});  // 2; 3; 4
  const PlanLayout layout = Make(b);
  // The tanh, which does not run in place, reads y while it writes dx.
  const PlannedBuffer& y = layout.buffers[size_t(layout.activation[3].buffer)];
  const PlannedBuffer& dx = layout.buffers[size_t(layout.gradient[1].buffer)];
  EXPECT_NE(layout.activation[3], layout.activation[1]);
  EXPECT_TRUE(y.offset + y.bytes <= dx.offset || dx.offset + dx.bytes <= y.offset);
}

TEST_P(JoinedLayoutTest, TheBatchIsCopied) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Concat({same_, Conv(2)});
  const PlanLayout layout = Make(b);
  EXPECT_EQ(layout.activation[0].buffer, PlanLayout::kBatch);
  ExpectPart(layout.activation, 1, 2, 3, 5);
  EXPECT_EQ(layout.gradient[0].buffer, PlanLayout::kNone);
}

TEST_P(JoinedLayoutTest, AValueInTwoConcatenationsIsAPartOfOne) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3});
  const GraphBuilder::Path join = [&](GraphBuilder& p) { p.Concat({Conv(2), same_}); };
  b.Conv2d(4).Add({join, join});  // 1; 2, 3; 4, 5; 6
  const PlanLayout layout = Make(b);
  ExpectPart(layout.activation, 1, 3, 2, 6);
  ExpectPart(layout.activation, 4, 5, 0, 6);
  EXPECT_NE(layout.activation[3].buffer, layout.activation[5].buffer);
  // Backwards the other comes first, and what the first adds goes there too.
  ExpectPart(layout.gradient, 1, 5, 2, 6);
  EXPECT_EQ(layout.accumulate[5], (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(layout.accumulate[3], (std::vector<uint8_t>{0, 1}));
}

TEST_P(JoinedLayoutTest, AValueThatStandsTwiceHasOnePlace) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4).Concat({same_, Conv(2), same_});  // 1; 2; 3
  const PlanLayout layout = Make(b);
  ExpectPart(layout.activation, 1, 3, 0, 10);
  ExpectPart(layout.activation, 2, 3, 4, 10);
  ExpectPart(layout.gradient, 1, 3, 0, 10);
  EXPECT_EQ(layout.accumulate[3], (std::vector<uint8_t>{0, 0, 1}));
}

TEST_P(JoinedLayoutTest, AViewTwiceOfOneValueHasOnePlace) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4).Concat({same_, [](GraphBuilder& p) { p.Dropout(0.5); }});  // 1; 2; 3
  const PlanLayout layout = Make(b, /*training=*/false);
  ExpectPart(layout.activation, 1, 3, 0, 8);
  ExpectPart(layout.activation, 2, 3, 0, 8);
}

TEST_P(JoinedLayoutTest, ConcatenationsWithinConcatenations) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4);
  b.Concat({Conv(1), [&](GraphBuilder& p) { p.Concat({Conv(2), Conv(3)}); }, Conv(4)});
  const PlanLayout layout = Make(b);  // 1; 2; 3, 4, 5; 6; 7
  for (const auto& values : {layout.activation, layout.gradient}) {
    ExpectPart(values, 2, 7, 0, 10);
    ExpectPart(values, 3, 7, 1, 10);
    ExpectPart(values, 4, 7, 3, 10);
    ExpectPart(values, 5, 7, 1, 10);
    ExpectPart(values, 6, 7, 6, 10);
    ExpectOwnBuffer(values, 1);
  }
}

TEST_P(JoinedLayoutTest, AnImageThatIsAlsoFlattenedStaysDense) {
  const GraphBuilder::Path flat = [](GraphBuilder& p) { p.Flatten().Fc(4); };
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(2).Add({flat, [&](GraphBuilder& p) {
                                      p.Concat({same_, Conv(2)}).Flatten().Fc(4);
                                    }});
  const PlanLayout layout = Make(b);  // 1; 2, 3; 4, 5, 6, 7; 8
  EXPECT_EQ(layout.activation[2], layout.activation[1]);
  EXPECT_TRUE(layout.activation[1].dense());
  ExpectPart(layout.activation, 4, 5, 2, 4);
  EXPECT_EQ(layout.activation[6], layout.activation[5]);  // the whole may be flattened
  EXPECT_TRUE(layout.activation[6].dense());
  // Gradients: the concatenation's part, to which the other path's is added.
  ExpectPart(layout.gradient, 1, 5, 0, 4);
  EXPECT_NE(layout.gradient[2].buffer, layout.gradient[1].buffer);
}

TEST_P(JoinedLayoutTest, NothingWritesInPlaceOverAPartThatIsReadLater) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4).Concat({Conv(2), same_}).Tanh();  // 1; 2, 3; 4
  // Conv 2 reads its input once more in the backward pass,
  const PlanLayout training = Make(b);
  EXPECT_EQ(training.activation[4], training.activation[3]);
  ExpectOwnBuffer(training.activation, 1);
  ExpectPart(training.activation, 2, 3, 0, 6);
  // and not in evaluation.
  const PlanLayout evaluation = Make(b, /*training=*/false);
  EXPECT_EQ(evaluation.activation[4], evaluation.activation[3]);
  ExpectPart(evaluation.activation, 1, 3, 2, 6);
}

TEST_P(JoinedLayoutTest, NothingWritesInPlaceOverAPartOfAPartThatIsReadLater) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4);
  b.Concat({[&](GraphBuilder& p) { p.Concat({Conv(2), same_}); }, Conv(3)}).Tanh();
  const PlanLayout layout = Make(b);  // 1; 2, 3; 4; 5; 6
  EXPECT_EQ(layout.activation[6], layout.activation[5]);
  EXPECT_TRUE(layout.activation[3].dense());
  ExpectPart(layout.activation, 1, 3, 2, 6);
  ExpectPart(layout.activation, 4, 5, 6, 9);
}

TEST_P(JoinedLayoutTest, OpsInPlaceWithinAPath) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Concat(
      {[&](GraphBuilder& p) { p.Conv2d(2).Tanh(); }, [&](GraphBuilder& p) { p.Conv2d(1); }});
  const PlanLayout layout = Make(b);  // 1, 2; 3; 4
  for (const auto& values : {layout.activation, layout.gradient}) {
    ExpectPart(values, 1, 4, 0, 3);
    ExpectPart(values, 2, 4, 0, 3);
  }
}

TEST_P(JoinedLayoutTest, AConcatenationOfOnePathIsDense) {
  GraphBuilder b("joined", GetParam());
  b.Input({4, 4, 3}).Conv2d(4).Concat({same_});
  const PlanLayout layout = Make(b);
  EXPECT_EQ(layout.activation[1], layout.activation[2]);
  EXPECT_TRUE(layout.activation[1].dense());
  EXPECT_EQ(layout.gradient[1], layout.gradient[2]);
}

}  // namespace
}  // namespace dtnn
