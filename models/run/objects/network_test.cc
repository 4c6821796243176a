#include "models/run/objects/network.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "optim/losses/losses.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

TEST(NetworkTest, HasAllLayersOfABuilder) {
  const auto names = [](const auto& write) {
    Network net("n");
    write(net.Input({.height = 4, .width = 4, .channels = 1}));
    std::vector<std::string> types;
    const Graph graph = Must(net.Build(TensorFormat::kNHWC, *Must(MakeLoss("mse"))));
    for (const Node& node : graph.nodes()) types.emplace_back(node.layer->type_name());
    return absl::StrJoin(types, " ");
  };
  EXPECT_EQ(
      names([](Network& n) { n.Relu6().LeakyRelu().Arctanh().Log().Relu().Sigmoid().Tanh(); }),
      "Input Relu6 LeakyRelu Arctanh Log Relu Sigmoid Tanh");
  EXPECT_EQ(names([](Network& n) { n.HardSigmoid().Silu().Gelu().HardSwish(); }),
            "Input HardSigmoid SiLU GELU HardSwish");
  EXPECT_EQ(names([](Network& n) { n.Elu(0.5).Clip(-1, 2).Softplus().Mish().PRelu(); }),
            "Input ELU Clip Softplus Mish PRelu");
  EXPECT_EQ(
      names([](Network& n) {
        n.Conv2d(2).MaxPool2d().AveragePool2d({.window = 1}).BatchNorm().Dropout(0.5);
        n.AdaptiveAveragePool2d(1)
            .Upsample2d()
            .TransposedConv2d(2)
            .Pad2d({.after = 1})
            .Slice2d({.begin = 1});
        n.ChannelShuffle(2).ChannelSlice(1, 1);
        n.Scale(0.5).ClassToken().PositionEmbedding().PixelSlice(0, 1).Flatten().Fc(3).Softmax();
      }),
      "Input Conv2D MaxPool2D AveragePool2D BatchNormalization Dropout AdaptiveAveragePool2D "
      "Upsample2D TransposedConv2D Pad2D Slice2D ChannelShuffle ChannelSlice Scale "
      "ClassToken PositionEmbedding PixelSlice Flatten FC Softmax");
  const Network::Path same = [](GraphBuilder&) {};
  EXPECT_EQ(names([&](Network& n) {
              n.Scores({same, same}).GroupSoftmax().WeightedSum({same, same}).SelfAttention();
            }),
            "Input ScoresBlock GroupSoftmax WeightedSumBlock Conv2D Conv2D ScoresBlock "
            "GroupSoftmax Conv2D WeightedSumBlock Conv2D AdditionBlock");
}

}  // namespace
}  // namespace dtnn
