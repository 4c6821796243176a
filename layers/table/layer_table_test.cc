#include "layers/table/layer_table.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "layers/activation.h"
#include "layers/adaptive_average_pool2d.h"
#include "layers/channels/channel_shuffle.h"
#include "layers/channels/channel_slice.h"
#include "layers/channels/group_softmax.h"
#include "layers/channels/prelu.h"
#include "layers/conv2d.h"
#include "layers/dropout.h"
#include "layers/fc.h"
#include "layers/image_fc.h"
#include "layers/input.h"
#include "layers/merging/scores.h"
#include "layers/merging/weighted_sum.h"
#include "layers/normalization/batch_normalization.h"
#include "layers/normalization/group_normalization.h"
#include "layers/pad2d.h"
#include "layers/pixels/class_token.h"
#include "layers/pixels/pixel_slice.h"
#include "layers/pixels/scale.h"
#include "layers/pool2d.h"
#include "layers/slice2d.h"
#include "layers/upsampling/transposed_conv2d.h"
#include "layers/upsampling/upsample2d.h"

namespace dtnn {
namespace {

using Layers = std::vector<std::shared_ptr<const Layer>>;

// Nothing is as it would be by default.
Layers Unusual() {
  const Conv2dOptions conv = {.kernel = {1, 2},
                              .stride = {3, 4},
                              .padding = {5, 6},
                              .dilation = {7, 8},
                              .bias = false,
                              .grouping = ConvGrouping::kDepthwise,
                              .initializer = InitializerKind::kHeNormal};
  const Pool2dOptions pool = {
      .window = {0, 3}, .stride = {2, 4}, .padding = {5, 1}, .dilation = {2, 3}};
  return {
      std::make_shared<InputLayer>(ImageExtents{4, 5, 6}),
      std::make_shared<Conv2dLayer>(9, conv),
      std::make_shared<Conv2dLayer>(9, Conv2dOptions{.grouping = ConvGrouping::kPointwise}),
      std::make_shared<FcLayer>(7, FcOptions{.bias = false, .initializer = InitializerKind::kOnes}),
      std::make_shared<ImageFcLayer>(7),
      std::make_shared<Pool2dLayer>(PoolKind::kMax, pool),
      std::make_shared<Pool2dLayer>(PoolKind::kAverage, pool),
      std::make_shared<Pool2dLayer>(PoolKind::kMax, Pool2dOptions{.ceil = true}),
      std::make_shared<Pool2dLayer>(PoolKind::kAverage, Pool2dOptions{.count_padding = true}),
      std::make_shared<Conv2dLayer>(4, Conv2dOptions{.groups = 2}),
      std::make_shared<TransposedConv2dLayer>(
          9, TransposedConv2dOptions{.kernel = {4, 3},
                                     .stride = {2, 3},
                                     .padding = {1, 0},
                                     .output_padding = {1, 2},
                                     .dilation = {1, 2},
                                     .bias = false,
                                     .initializer = InitializerKind::kHeNormal,
                                     .groups = 3}),
      std::make_shared<AdaptiveAveragePool2dLayer>(Pair(2, 3)),
      std::make_shared<Upsample2dLayer>(
          Upsample2dOptions{.scale = {3, 2}, .mode = ResizeMode::kLinear, .align_corners = true}),
      std::make_shared<Pad2dLayer>(Pad2dOptions{
          .before = {1, 2}, .after = {3, 4}, .mode = PadMode::kReflect, .value = 0.25}),
      std::make_shared<Slice2dLayer>(
          Slice2dOptions{.begin = {1, 2}, .count = {3, 4}, .step = {5, 6}}),
      std::make_shared<ClassTokenLayer>(3),
      std::make_shared<PixelSliceLayer>(2, 5),
      std::make_shared<ScaleLayer>(1.0 / 3),
      std::make_shared<ChannelShuffleLayer>(3),
      std::make_shared<ChannelSliceLayer>(2, 5),
      std::make_shared<GroupSoftmaxLayer>(3),
      std::make_shared<ScoresLayer>(ScoresOptions{.heads = 2, .factor = 1.0 / 3}),
      std::make_shared<WeightedSumLayer>(4),
      std::make_shared<BatchNormalizationLayer>(
          BatchNormalizationOptions{.momentum = 0.1, .epsilon = 1.0 / 3}),
      std::make_shared<GroupNormalizationLayer>(
          GroupNormalizationOptions{.groups = 3, .per_pixel = true, .epsilon = 0.25}),
      std::make_shared<DropoutLayer>(0.1),
      std::make_shared<PReluLayer>(false),
      std::make_shared<ActivationLayer>(ActivationKind::kLeakyRelu,
                                        ActivationNumbers{.slope = 0.2}),
      std::make_shared<ActivationLayer>(ActivationKind::kElu, ActivationNumbers{.alpha = 0.5}),
      std::make_shared<ActivationLayer>(ActivationKind::kClip,
                                        ActivationNumbers{.low = -0.25, .high = 1.0 / 3})};
}

TEST(LayerTableTest, AttributesMakeTheSameLayer) {
  for (const auto& layer : Unusual()) {
    const auto made = MakeLayer(layer->type_name(), layer->attributes());
    ASSERT_TRUE(made.ok()) << layer->type_name() << ": " << made.status();
    EXPECT_EQ((*made)->type_name(), layer->type_name());
    EXPECT_EQ((*made)->attributes(), layer->attributes()) << layer->type_name();
    EXPECT_EQ(typeid(**made), typeid(*layer));
  }
}

TEST(LayerTableTest, EveryTypeIsItsOwn) {
  std::set<std::string> with_attributes;
  for (const auto& layer : Unusual()) with_attributes.emplace(layer->type_name());
  for (const auto& [type, factory] : BuiltInLayers()) {
    if (with_attributes.contains(type)) continue;
    const auto made = MakeLayer(type, {});
    ASSERT_TRUE(made.ok()) << type << ": " << made.status();
    EXPECT_EQ((*made)->type_name(), type);
  }
}

// Files of versions in which it had no other.
TEST(LayerTableTest, LeakyReluWithoutASlopeHasPyTorchs) {
  const auto made = MakeLayer("LeakyRelu", {});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(dynamic_cast<const ActivationLayer&>(**made).numbers().slope, 0.01);
}

TEST(LayerTableTest, WhatIsNotKnownIsNamed) {
  EXPECT_EQ(MakeLayer("Conv9D", {}).status().message(),
            "has type \"Conv9D\", which is not a layer that this program knows");
  EXPECT_EQ(MakeLayer("FC", {{"outputs", int64_t{3}}, {"bias", int64_t{1}}}).status().message(),
            "attribute \"image\" is missing");
  EXPECT_EQ(MakeLayer("Relu", {{"slope", 0.1}}).status().message(),
            "attribute \"slope\" is not one that this layer has");
}

TEST(LayerTableTest, TakesLayersOfOnesOwn) {
  LayerTable table = BuiltInLayers();
  table.emplace("Mine", [](AttributeReader& read) -> std::shared_ptr<const Layer> {
    return std::make_shared<DropoutLayer>(read.Real("rate") / 2);
  });
  const auto made = MakeLayer("Mine", {{"rate", 0.5}}, table);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)->attributes(), (Attributes{{"rate", 0.25}}));
}

}  // namespace
}  // namespace dtnn
