// The sample that each layer makes of its inputs, in both formats, and what it refuses: every
// option at both ends of what it may be, other numbers of inputs, and samples of another rank.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layers/activation.h"
#include "layers/adaptive_average_pool2d.h"
#include "layers/channels/channel_shuffle.h"
#include "layers/channels/channel_slice.h"
#include "layers/channels/group_softmax.h"
#include "layers/conv2d.h"
#include "layers/dropout.h"
#include "layers/fc.h"
#include "layers/flatten.h"
#include "layers/image_fc.h"
#include "layers/input.h"
#include "layers/merging/addition.h"
#include "layers/merging/concatenation.h"
#include "layers/merging/multiplication.h"
#include "layers/merging/scores.h"
#include "layers/merging/weighted_sum.h"
#include "layers/normalization/batch_normalization.h"
#include "layers/normalization/group_normalization.h"
#include "layers/pad2d.h"
#include "layers/pixels/class_token.h"
#include "layers/pixels/pixel_slice.h"
#include "layers/pixels/position_embedding.h"
#include "layers/pixels/scale.h"
#include "layers/pool2d.h"
#include "layers/slice2d.h"
#include "layers/softmax.h"
#include "layers/upsampling/transposed_conv2d.h"
#include "layers/upsampling/upsample2d.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Images = std::vector<ImageExtents>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr ImageExtents kImage = {5, 7, 4};

class OutputShapesTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  TensorFormat format() const { return GetParam(); }
  Shape Of(const ImageExtents& image) const { return SampleShape(image, format()); }
  std::vector<Shape> Shapes(const Images& images) const {
    std::vector<Shape> shapes;
    for (const ImageExtents& image : images) shapes.push_back(Of(image));
    return shapes;
  }
  void Makes(const Layer& layer, const Images& inputs, const ImageExtents& output) const {
    const auto made = layer.OutputShape(Shapes(inputs), format());
    ASSERT_EQ(made.status(), absl::OkStatus()) << layer.type_name();
    EXPECT_EQ(*made, Of(output)) << layer.type_name() << " " << layer.SettingsCell();
  }
  void Refuses(const Layer& layer, const std::vector<Shape>& inputs,
               const std::string& message) const {
    const absl::Status status = layer.OutputShape(inputs, format()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << layer.type_name();
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << layer.type_name();
  }
  void Refuses(const Layer& layer, const Images& inputs, const std::string& message) const {
    Refuses(layer, Shapes(inputs), message);
  }
};

TEST_P(OutputShapesTest, LayersOfOneInputTakeOne) {
  const Conv2dLayer conv(3, {});
  const Pool2dLayer pool(PoolKind::kMax, {});
  const AdaptiveAveragePool2dLayer adaptive(1);
  const PixelSliceLayer pixels(0, 1);
  const ClassTokenLayer token;
  const PositionEmbeddingLayer embedding;
  const ScaleLayer scale(1);
  const Pad2dLayer pad({});
  const Slice2dLayer rows({});
  const Upsample2dLayer upsample({});
  const TransposedConv2dLayer transposed(3, {});
  const ChannelShuffleLayer shuffle(2);
  const ChannelSliceLayer slice(0, 1);
  const GroupSoftmaxLayer group_softmax;
  const ImageFcLayer image_fc(3);
  for (const Layer* layer : std::initializer_list<const Layer*>{
           &conv, &pool, &adaptive, &pixels, &token, &embedding, &scale, &pad, &rows, &upsample,
           &transposed, &shuffle, &slice, &group_softmax, &image_fc}) {
    EXPECT_TRUE(layer->OutputShape(Shapes({kImage}), format()).ok()) << layer->type_name();
    Refuses(*layer, Images{}, "needs one input, not 0");
    Refuses(*layer, {kImage, kImage}, "needs one input, not 2");
    Refuses(*layer, std::vector<Shape>{Shape{6}}, "needs an image (three axes)");
  }
  const FcLayer fc(3);
  const FlattenLayer flatten;
  const SoftmaxLayer softmax;
  const DropoutLayer dropout(0.5);
  const ActivationLayer relu(ActivationKind::kRelu);
  for (const Layer* layer :
       std::initializer_list<const Layer*>{&fc, &flatten, &softmax, &dropout, &relu}) {
    EXPECT_TRUE(layer->OutputShape(std::vector<Shape>{Shape{6}}, format()).ok())
        << layer->type_name();
    Refuses(*layer, std::vector<Shape>{}, "needs one input, not 0");
    Refuses(*layer, std::vector<Shape>{Shape{6}, Shape{6}}, "needs one input, not 2");
  }
  Refuses(fc, {kImage}, "; put a Flatten before it");
  Refuses(softmax, std::vector<Shape>{Shape{2, 3}}, "needs a vector");
  EXPECT_EQ(*flatten.OutputShape(Shapes({kImage}), format()), Shape({140}));
}

TEST_P(OutputShapesTest, Vectors) {
  const std::vector<Shape> vector = {Shape{6}};
  EXPECT_EQ(*FcLayer(1).OutputShape(vector, format()), Shape({1}));
  EXPECT_EQ(*ImageFcLayer(2).OutputShape(Shapes({kImage}), format()), Shape({2}));
  Refuses(FcLayer(0), vector, "needs at least one output, not 0");
  Refuses(ImageFcLayer(0), {kImage}, "needs at least one output, not 0");
  for (const double rate : {0.0, 1.0}) {
    EXPECT_EQ(*DropoutLayer(rate).OutputShape(vector, format()), vector[0]);
  }
  for (const double rate : {-0.001, 1.001, kNaN}) {
    Refuses(DropoutLayer(rate), vector, "needs a rate in [0, 1], not ");
  }
}

TEST_P(OutputShapesTest, InputsComeFirst) {
  EXPECT_EQ(*InputLayer(kImage).OutputShape({}, format()), Of(kImage));
  Refuses(InputLayer(kImage), {kImage}, "must come first and only once");
  for (const ImageExtents& none :
       {ImageExtents{0, 7, 4}, ImageExtents{5, 0, 4}, ImageExtents{5, 7, 0}}) {
    Refuses(InputLayer(none), Images{}, "a sample needs positive extents, not ");
  }
}

TEST_P(OutputShapesTest, Normalisations) {
  const auto batch = [](double momentum, double epsilon) {
    return BatchNormalizationLayer({.momentum = momentum, .epsilon = epsilon});
  };
  for (const double momentum : {0.0, 1.0}) Makes(batch(momentum, 1e-30), {kImage}, kImage);
  EXPECT_EQ(*batch(0.9, 1).OutputShape(std::vector<Shape>{Shape{6}}, format()), Shape({6}));
  for (const double momentum : {-0.001, 1.001, kNaN}) {
    Refuses(batch(momentum, 1), {kImage}, "; expected 0 to 1");
  }
  const auto group = [](int64_t groups, double epsilon = 1) {
    return GroupNormalizationLayer({.groups = groups, .epsilon = epsilon});
  };
  for (const double epsilon : {0.0, -1.0, kInfinite, kNaN}) {
    Refuses(batch(0.9, epsilon), {kImage}, "; expected a finite number above 0");
    Refuses(group(1, epsilon), {kImage}, "; expected a finite number above 0");
  }
  for (const int64_t groups : {1, 2, 4}) Makes(group(groups), {kImage}, kImage);
  for (const int64_t groups : {0, -1, 3, 5, 7, 8}) {
    Refuses(group(groups), {kImage}, "; expected a divisor of 4");
  }
  Refuses(group(1), std::vector<Shape>{Shape{6}}, "takes one input, an image, not 1 of shape (6,)");
  for (const Layer* layer : std::initializer_list<const Layer*>{new BatchNormalizationLayer(),
                                                                new GroupNormalizationLayer()}) {
    const std::unique_ptr<const Layer> owned(layer);
    Refuses(*layer, Images{}, "takes one input, an image");
    Refuses(*layer, {kImage, kImage}, "takes one input, an image");
    Refuses(*layer, std::vector<Shape>{Shape{2, 3}}, "takes one input, an image");
  }
}

TEST_P(OutputShapesTest, Channels) {
  Makes(ChannelSliceLayer(0, 4), {kImage}, kImage);
  Makes(ChannelSliceLayer(3, 1), {kImage}, {5, 7, 1});
  Refuses(ChannelSliceLayer(0, 0), {kImage}, "count is 0, expected at least 1");
  Refuses(ChannelSliceLayer(0, -1), {kImage}, "count is -1, expected at least 1");
  Refuses(ChannelSliceLayer(1, 4), {kImage}, "are not in an image of 4");
  Refuses(ChannelSliceLayer(-1, 1), {kImage}, "are not in an image of 4");
  Refuses(ChannelSliceLayer(4, 1), {kImage}, "are not in an image of 4");
  for (const int64_t groups : {1, 2, 4}) {
    Makes(ChannelShuffleLayer(groups), {kImage}, kImage);
    Makes(GroupSoftmaxLayer(groups), {kImage}, kImage);
  }
  for (const int64_t groups : {0, 3, 5, 7, 8}) {
    Refuses(ChannelShuffleLayer(groups), {kImage}, "expected a divisor of 4 channels");
    Refuses(GroupSoftmaxLayer(groups), {kImage}, "expected a number that divides 4 channels");
  }
}

TEST_P(OutputShapesTest, Merging) {
  const ImageExtents other = {5, 7, 2};
  Makes(AdditionLayer(), {kImage, kImage, kImage}, kImage);
  Refuses(AdditionLayer(), Images{}, "needs at least one path");
  Refuses(AdditionLayer(), {kImage, kImage, other}, "adds paths of equal shapes");
  Makes(ConcatenationLayer(), {kImage}, kImage);
  Makes(ConcatenationLayer(), {kImage, other, other}, {5, 7, 8});
  Refuses(ConcatenationLayer(), Images{}, "needs at least one path");
  Refuses(ConcatenationLayer(), {kImage, {4, 7, 4}}, "concatenates maps of one size");
  Refuses(ConcatenationLayer(), {kImage, {5, 6, 4}}, "concatenates maps of one size");
  Refuses(ConcatenationLayer(), std::vector<Shape>{Of(kImage), Shape{4}}, "concatenates images");
  Makes(MultiplicationLayer(), {kImage, {1, 1, 4}}, kImage);
  for (const ImageExtents& factors : Images{{1, 1, 3}, {2, 1, 4}, {1, 2, 4}}) {
    Refuses(MultiplicationLayer(), {kImage, factors}, "by a factor for each channel");
  }
  Refuses(MultiplicationLayer(), std::vector<Shape>{Shape{4}, Shape{4}}, "by a factor for each");
  Refuses(MultiplicationLayer(), {kImage}, "needs two paths");
  Refuses(MultiplicationLayer(), {kImage, {1, 1, 4}, {1, 1, 4}}, "needs two paths");
}

TEST_P(OutputShapesTest, Attention) {
  const ImageExtents keys = {2, 3, 4};
  Makes(ScoresLayer({.heads = 1}), {kImage, keys}, {5, 7, 6});
  Makes(ScoresLayer({.heads = 4}), {kImage, keys}, {5, 7, 24});
  for (const int64_t heads : {0, -1, 3, 8}) {
    Refuses(ScoresLayer({.heads = heads}), {kImage, keys}, "takes images of the same channels");
  }
  for (const double factor : {kInfinite, -kInfinite, kNaN}) {
    Refuses(ScoresLayer({.factor = factor}), {kImage, keys}, "expected a finite number");
  }
  Refuses(ScoresLayer(), {kImage, {2, 3, 8}}, "takes images of the same channels");
  Refuses(ScoresLayer(), std::vector<Shape>{Of(kImage), Shape{4}}, "images of the same channels");
  Refuses(ScoresLayer(), std::vector<Shape>{Shape{4}, Of(kImage)}, "images of the same channels");
  Refuses(ScoresLayer(), {kImage}, "needs two paths, queries and keys");
  Makes(WeightedSumLayer(2), {{5, 7, 12}, keys}, {5, 7, 4});
  for (const int64_t channels : {6, 11, 13, 24}) {
    Refuses(WeightedSumLayer(2), {{5, 7, channels}, keys}, "a channel for each pixel");
  }
  Refuses(WeightedSumLayer(3), {{5, 7, 18}, keys}, "divide the channels of the second evenly");
  Refuses(WeightedSumLayer(0), {{5, 7, 6}, keys}, "a channel for each pixel");
  Refuses(WeightedSumLayer(), {keys}, "needs two paths, weights and values");
  Refuses(WeightedSumLayer(), std::vector<Shape>{Shape{6}, Of(keys)}, "takes images");
  Refuses(WeightedSumLayer(), std::vector<Shape>{Of(keys), Shape{6}}, "takes images");
}

TEST_P(OutputShapesTest, Pixels) {
  Makes(ClassTokenLayer(1), {kImage}, {1, 36, 4});
  Makes(ClassTokenLayer(65536), {kImage}, {1, 65571, 4});
  for (const int64_t count : {0, -1, 65537}) {
    Refuses(ClassTokenLayer(count), {kImage}, "expected 1 to 65536");
  }
  Makes(PixelSliceLayer(0, 35), {kImage}, {1, 35, 4});
  Makes(PixelSliceLayer(34, 1), {kImage}, {1, 1, 4});
  for (const auto& [begin, count] :
       {std::pair(-1, 1), std::pair(35, 1), std::pair(0, 0), std::pair(0, 36), std::pair(34, 2)}) {
    Refuses(PixelSliceLayer(begin, count), {kImage}, "on of an image of 35");
  }
  for (const double factor : {0.0, -3e38, 3e38}) Makes(ScaleLayer(factor), {kImage}, kImage);
  for (const double factor : {-4e38, 4e38, kNaN}) {
    Refuses(ScaleLayer(factor), {kImage}, "expected a number that a float can be");
  }
  Makes(PositionEmbeddingLayer(), {kImage}, kImage);
}

TEST_P(OutputShapesTest, Windows) {
  Makes(Conv2dLayer(9, {.kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 0}}), {kImage},
        {3, 2, 9});
  Makes(Conv2dLayer(8, {.kernel = 1, .groups = 4}), {kImage}, {5, 7, 8});
  Refuses(Conv2dLayer(8, {.groups = 3}), {kImage}, "groups is 3");
  Refuses(Conv2dLayer(4, {.grouping = ConvGrouping::kDepthwise, .groups = 2}), {kImage},
          "groups are for standard convolutions");
  Makes(Pool2dLayer(PoolKind::kMax, {.window = {2, 3}, .stride = {1, 2}}), {kImage}, {4, 3, 4});
  Makes(Pool2dLayer(PoolKind::kMax, {.window = 2, .stride = 3, .ceil = true}), {kImage}, {2, 3, 4});
  Makes(Pool2dLayer(PoolKind::kAverage, {.window = 0}), {kImage}, {1, 1, 4});
  Makes(AdaptiveAveragePool2dLayer({2, 9}), {kImage}, {2, 9, 4});
  Refuses(AdaptiveAveragePool2dLayer({0, 1}), {kImage}, "output height is 0");
  Refuses(AdaptiveAveragePool2dLayer({1, 0}), {kImage}, "output width is 0");
  Makes(Pad2dLayer({.before = {1, 2}, .after = {3, 4}}), {kImage}, {9, 13, 4});
  Makes(Pad2dLayer({.before = {4, 6}, .after = {4, 6}, .mode = PadMode::kReflect}), {kImage},
        {13, 19, 4});
  Refuses(Pad2dLayer({.before = {5, 0}, .mode = PadMode::kReflect}), {kImage}, "mirrored");
  Refuses(Pad2dLayer({.after = {0, 7}, .mode = PadMode::kReflect}), {kImage}, "mirrored");
  Makes(Slice2dLayer({.begin = {4, 6}}), {kImage}, {1, 1, 4});
  Makes(Slice2dLayer({.count = {3, 3}, .step = {2, 3}}), {kImage}, {3, 3, 4});
  Refuses(Slice2dLayer({.begin = {5, 0}}), {kImage}, "not in an image of 5");
  Refuses(Slice2dLayer({.begin = {0, 7}}), {kImage}, "not in an image of 7");
  Refuses(Slice2dLayer({.count = {3, 4}, .step = {2, 3}}), {kImage}, "not in an image of 7");
}

TEST_P(OutputShapesTest, Upsampling) {
  Makes(Upsample2dLayer({.scale = {1, 1024}}), {kImage}, {5, 7168, 4});
  for (const Pair& scale : {Pair(0, 1), Pair(1, 0), Pair(1025, 1), Pair(1, 1025)}) {
    Refuses(Upsample2dLayer({.scale = scale}), {kImage}, "expected 1 to 1024");
  }
  const TransposedConv2dOptions options = {.kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 0}};
  // (extent - 1) * stride - 2 * padding + dilation * (kernel - 1) + output padding + 1.
  Makes(TransposedConv2dLayer(9, options), {kImage}, {9, 20, 9});
  TransposedConv2dOptions more = options;
  more.output_padding = {1, 2}, more.dilation = {2, 3};
  Makes(TransposedConv2dLayer(9, more), {kImage}, {12, 24, 9});
  constexpr int64_t kMost = int64_t{1} << 24;
  for (Pair TransposedConv2dOptions::*const field :
       {&TransposedConv2dOptions::kernel, &TransposedConv2dOptions::stride,
        &TransposedConv2dOptions::padding, &TransposedConv2dOptions::output_padding,
        &TransposedConv2dOptions::dilation}) {
    const bool from_zero = field == &TransposedConv2dOptions::padding ||
                           field == &TransposedConv2dOptions::output_padding;
    const int64_t below = from_zero ? -1 : 0;
    for (const Pair& wrong :
         {Pair(below, 1), Pair(1, below), Pair(kMost + 1, 1), Pair(1, kMost + 1)}) {
      TransposedConv2dOptions changed = options;
      changed.*field = wrong;
      Refuses(TransposedConv2dLayer(9, changed), {kImage},
              std::string(", expected ") + (from_zero ? "0" : "1") + " to 16777216");
    }
  }
  for (const Pair& wrong : {Pair(2, 0), Pair(0, 3)}) {
    TransposedConv2dOptions changed = options;
    changed.output_padding = wrong;
    Refuses(TransposedConv2dLayer(9, changed), {kImage}, "output_padding is not less than stride");
  }
  TransposedConv2dOptions padded = options;
  padded.padding = {6, 0};
  Refuses(TransposedConv2dLayer(9, padded), {kImage}, "less padding would help");
  padded.padding = {0, 10};
  Refuses(TransposedConv2dLayer(9, padded), {kImage}, "less padding would help");
}

INSTANTIATE_TEST_SUITE_P(, OutputShapesTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

}  // namespace
}  // namespace dtnn
