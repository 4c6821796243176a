// Gradients through blocks inside blocks, with activations, normalisation and grouped convolutions
// in their paths.

#include <vector>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckNetworkGradients;
using Path = GraphBuilder::Path;

class NestedBlocksTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  template <typename F>
  static Graph Network(const F& body) {
    GraphBuilder b("nested", GetParam());
    b.Input({6, 5, 3}).Conv2d(4, {.padding = 1});
    body(b);
    b.Flatten().Fc(4).Softmax();
    return *b.Build();
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, NestedBlocksTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

const Path kSame = GraphBuilder::Identity();

TEST_P(NestedBlocksTest, ThreeDeepInAPathAmongOthers) {
  const Path deepest = [](GraphBuilder& p) {
    p.Add({[](GraphBuilder& q) { q.Conv2d(4, {.kernel = 1}).LeakyRelu(); }, kSame}).Tanh();
  };
  const Path middle = [&](GraphBuilder& p) {
    p.Concat({deepest, kSame, [](GraphBuilder& q) { q.Conv2d(3, {.kernel = 1}).Sigmoid(); }});
    p.Conv2d(4, {.padding = 1}).Relu();
  };
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) {
    b.Relu().Add({middle, kSame, [&](GraphBuilder& p) { p.Tanh().Add({deepest, middle}); }});
  })));
}

TEST_P(NestedBlocksTest, BlocksThatBeginAndEndWithBlocks) {
  const Path add = [](GraphBuilder& p) {
    p.Add({[](GraphBuilder& q) { q.Tanh(); }, [](GraphBuilder& q) { q.Log(); }});
  };
  const Path twice = [&](GraphBuilder& p) { p.Concat({add, kSame}).Concat({kSame, add}); };
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) {
    b.Add({twice, twice}).Concat({add, add}).Relu6();
  })));
}

TEST_P(NestedBlocksTest, SqueezeAndExcitationInARow) {
  const Path squeeze = [](GraphBuilder& p) {
    p.AdaptiveAveragePool2d(1).Conv2d(3, {.kernel = 1}).Silu().Conv2d(4, {.kernel = 1}).Sigmoid();
  };
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) {
    b.Conv2d(4, {.kernel = 1}).Multiply({kSame, squeeze}).HardSwish().Multiply({kSame, squeeze});
    b.Add({kSame, [&](GraphBuilder& p) { p.Silu().Multiply({kSame, squeeze}); }});
  })));
}

TEST_P(NestedBlocksTest, SelfAttentionWithHeadsAndOfSmallerKeys) {
  EXPECT_TRUE(CheckNetworkGradients(Network([](GraphBuilder& b) {
    b.SelfAttention({.heads = 2}).Relu();
    b.SelfAttention({.key_channels = 1, .value_channels = 3, .factor = 1, .bias = false});
  })));
}

TEST_P(NestedBlocksTest, PaddedPathsAmongOthers) {
  std::vector<Path> paths;
  for (const PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge}) {
    paths.push_back([mode](GraphBuilder& p) {
      p.Tanh().Pad2d({.before = {1, 2}, .after = {1, 0}, .mode = mode}).Conv2d(4, {.kernel = 3});
    });
  }
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) { b.Concat(paths); })));
}

// Each takes every second pixel, and adds its gradient to those of the others.
TEST_P(NestedBlocksTest, SlicesOfOneImage) {
  std::vector<Path> paths;
  for (const Pair begin : {Pair(0, 0), Pair(1, 0), Pair(0, 1), Pair(1, 1)}) {
    paths.push_back([begin](GraphBuilder& p) {
      p.Slice2d({.begin = begin, .count = {2, 2}, .step = 2}).Conv2d(3, {.kernel = 1});
    });
  }
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) { b.Tanh().Concat(paths); })));
}

TEST_P(NestedBlocksTest, AttentionToFewerPixels) {
  const Path pooled = [](GraphBuilder& p) { p.Conv2d(4, {.kernel = 1}).MaxPool2d({.stride = 2}); };
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) {
    b.WeightedSum({[&](GraphBuilder& p) {
                     p.Scores({kSame, pooled}, {.heads = 2, .factor = 0.5}).GroupSoftmax(2);
                   },
                   pooled},
                  2);
  })));
}

TEST_P(NestedBlocksTest, NormalisationsWithinSamples) {
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) {
    b.Conv2d(4, {.kernel = 3, .padding = 1}).GroupNorm({.per_pixel = true}).Gelu();
    b.Add({kSame, [](GraphBuilder& p) { p.Conv2d(4, {.kernel = 1}).GroupNorm({.groups = 2}); }});
    b.GroupNorm().Relu();
  })));
}

TEST_P(NestedBlocksTest, EveryActivationInAPathOfItsOwn) {
  std::vector<Path> paths;
  for (const ActivationKind kind : kActivationKinds) {
    paths.push_back([kind](GraphBuilder& p) {
      p.Conv2d(2, {.kernel = 1});
      if (kind == ActivationKind::kArctanh) p.Tanh();  // into its domain
      p.Activation(kind);
    });
  }
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) { b.Concat(paths); })));
}

TEST_P(NestedBlocksTest, GroupedConvolutionsNormalisationAndPools) {
  const Path separable = [](GraphBuilder& p) {
    p.Conv2d(0, {.padding = 1, .bias = false, .grouping = ConvGrouping::kDepthwise}).BatchNorm();
    p.Relu6().Conv2d(4, {.grouping = ConvGrouping::kPointwise}).BatchNorm().LeakyRelu();
  };
  const Path pooled = [](GraphBuilder& p) {
    p.AveragePool2d({.window = 3, .padding = 1}).AdaptiveAveragePool2d({6, 5});
  };
  EXPECT_TRUE(CheckNetworkGradients(Network([&](GraphBuilder& b) {
    b.Add({[&](GraphBuilder& p) { p.Add({separable, kSame}).Relu(); }, pooled});
    b.Concat({separable, pooled}).AdaptiveAveragePool2d({2, 3});
    b.Upsample2d({.mode = ResizeMode::kLinear}).ChannelShuffle(2);
    b.Concat({[](GraphBuilder& p) { p.ChannelSlice(0, 3).Conv2d(3, {.kernel = 1}); },
              [](GraphBuilder& p) { p.ChannelSlice(3, 5); }});
    b.Concat({[](GraphBuilder& p) { p.TransposedConv2d(2, {.padding = 1}); },
              [](GraphBuilder& p) { p.TransposedConv2d(3, {.padding = 1, .bias = false}); }});
  })));
}

}  // namespace
}  // namespace dtnn
