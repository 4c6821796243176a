#include "layers/conv2d.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;
using ::dtnn::testing::IntegerTensor;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;

class Conv2dLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Shape Sample(int64_t h, int64_t w, int64_t c) { return SampleShape({h, w, c}, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Formats, Conv2dLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(Conv2dLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(Conv2dLayer(4, {.padding = 1}), {Sample(5, 6, 3)}, GetParam()));
  EXPECT_TRUE(CheckGradients(Conv2dLayer(2, {.kernel = 1, .stride = 2, .bias = false}),
                             {Sample(5, 4, 2)}, GetParam()));
  EXPECT_TRUE(CheckGradients(
      Conv2dLayer(3, {.kernel = {2, 3}, .stride = {1, 2}, .padding = {2, 1}, .dilation = {2, 1}}),
      {Sample(6, 7, 1)}, GetParam()));
}

TEST_P(Conv2dLayerTest, GradientsOfGroups) {
  const Conv2dLayer layer(6, {.stride = {1, 2}, .padding = 1, .groups = 2});
  EXPECT_TRUE(CheckGradients(layer, {Sample(5, 6, 4)}, GetParam()));
  const Shape sample = Sample(5, 6, 4), odd = Sample(5, 6, 3);
  EXPECT_EQ(layer.Parameters({&sample, 1}, GetParam())[0].shape.NumElements(), 6 * 2 * 9);
  EXPECT_FALSE(layer.OutputShape({&odd, 1}, GetParam()).ok());
  const Conv2dLayer pointwise(6, {.grouping = ConvGrouping::kPointwise, .groups = 2});
  EXPECT_FALSE(pointwise.OutputShape({&sample, 1}, GetParam()).ok());
}

TEST_P(Conv2dLayerTest, GradientsOfDepthwise) {
  for (const bool bias : {true, false}) {
    const auto check = [&](Conv2dOptions options, const Shape& sample) {
      options.bias = bias;
      options.grouping = ConvGrouping::kDepthwise;
      return CheckGradients(Conv2dLayer(7, options), {sample}, GetParam());
    };
    EXPECT_TRUE(check({.padding = 1}, Sample(6, 5, 5)));
    EXPECT_TRUE(check({.stride = 2, .padding = 1}, Sample(7, 6, 3)));
    EXPECT_TRUE(check({.kernel = {2, 3}, .stride = {2, 1}, .dilation = {1, 2}}, Sample(5, 6, 2)));
  }
}

TEST_P(Conv2dLayerTest, GradientsOfPointwise) {
  for (const bool bias : {true, false}) {
    const auto check = [&](Conv2dOptions options, const Shape& sample) {
      options.bias = bias;
      options.grouping = ConvGrouping::kPointwise;
      return CheckGradients(Conv2dLayer(4, options), {sample}, GetParam());
    };
    EXPECT_TRUE(check({}, Sample(3, 4, 5)));
    EXPECT_TRUE(check({.kernel = 5, .stride = 2, .padding = 1}, Sample(4, 5, 3)));
  }
}

// One output of a layer with fused relu, and of the layer itself.
std::vector<double> OutputOf(const Conv2dLayer& layer, const Shape& sample, TensorFormat format,
                             bool fuse_relu) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  BindContext context;
  context.device = device.get();
  context.batch = 2;
  context.format = format;
  context.inputs = {sample};
  context.output = *layer.OutputShape(context.inputs, format);
  context.fuse_relu = fuse_relu;
  const auto op = *layer.Bind(context);
  EXPECT_EQ(op->Keep(*Buffer::Allocate(Device::Cpu(), op->traits().kept_bytes)), absl::OkStatus());
  const Tensor x = IntegerTensor(DType::kFloat32, sample.Prepend(2), 1);
  const Tensor y = ZeroTensor(DType::kFloat32, context.output.Prepend(2));
  std::vector<ParameterView> parameters;
  for (const ParameterSpec& spec : layer.Parameters(context.inputs, format)) {
    parameters.push_back({IntegerTensor(DType::kFloat32, spec.shape, parameters.size() + 2), 1});
  }
  const auto buffer =
      *Buffer::Allocate(Device::Cpu(), std::max<size_t>(1, op->traits().workspace_bytes));
  const absl::Status status = op->Forward({.inputs = {&x, 1},
                                           .output = y,
                                           .parameters = parameters,
                                           .workspace = {buffer->data(), buffer->size()}});
  EXPECT_TRUE(status.ok()) << status;
  return Values(y);
}

TEST_P(Conv2dLayerTest, EveryGroupingFusesRelu) {
  for (const auto grouping :
       {ConvGrouping::kStandard, ConvGrouping::kDepthwise, ConvGrouping::kPointwise}) {
    const Conv2dLayer layer(3, {.stride = 2, .padding = 1, .grouping = grouping});
    std::vector<double> expected = OutputOf(layer, Sample(5, 6, 4), GetParam(), false);
    bool negative = false;
    for (double& value : expected) {
      negative = negative || value < 0;
      value = std::max(value, 0.0);
    }
    EXPECT_TRUE(negative) << "nothing for a relu to do";
    EXPECT_EQ(OutputOf(layer, Sample(5, 6, 4), GetParam(), true), expected);
  }
}

TEST_P(Conv2dLayerTest, GroupingDecidesShapesAndWork) {
  const Shape input = Sample(9, 8, 6);
  const bool nhwc = GetParam() == TensorFormat::kNHWC;
  const auto layer = [](ConvGrouping grouping) {
    return Conv2dLayer(10, {.kernel = 3, .stride = 2, .padding = 1, .grouping = grouping});
  };
  const Conv2dLayer standard = layer(ConvGrouping::kStandard);
  EXPECT_EQ(*standard.OutputShape({&input, 1}, GetParam()), Sample(5, 4, 10));
  EXPECT_EQ(standard.MultiplyAdds({&input, 1}, GetParam()), 5 * 4 * 10 * 6 * 9);
  const Conv2dLayer depthwise = layer(ConvGrouping::kDepthwise);
  EXPECT_EQ(*depthwise.OutputShape({&input, 1}, GetParam()), Sample(5, 4, 6));
  EXPECT_EQ(depthwise.MultiplyAdds({&input, 1}, GetParam()), 5 * 4 * 6 * 9);
  EXPECT_EQ(depthwise.WeightsCell({&input, 1}, GetParam()), "(6, 3, 3)");
  EXPECT_EQ(depthwise.Parameters({&input, 1}, GetParam())[1].shape, Shape{6});
  const Conv2dLayer pointwise = layer(ConvGrouping::kPointwise);
  EXPECT_EQ(*pointwise.OutputShape({&input, 1}, GetParam()), Sample(6, 5, 10));
  EXPECT_EQ(pointwise.MultiplyAdds({&input, 1}, GetParam()), 6 * 5 * 10 * 6);
  EXPECT_EQ(pointwise.WeightsCell({&input, 1}, GetParam()), nhwc ? "(6, 10)" : "(10, 6)");
}

TEST_P(Conv2dLayerTest, ParametersAreCountedAndInitialisedByFans) {
  const Shape input = Sample(32, 32, 3);
  const auto parameters = Conv2dLayer(64, {}).Parameters({&input, 1}, GetParam());
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "weights");
  EXPECT_EQ(parameters[0].shape,
            GetParam() == TensorFormat::kNHWC ? (Shape{3, 3, 3, 64}) : (Shape{64, 3, 3, 3}));
  EXPECT_EQ(parameters[0].initializer.fan_in, 27);
  EXPECT_EQ(parameters[0].initializer.fan_out, 576);
  EXPECT_EQ(parameters[1].name, "biases");
  EXPECT_EQ(parameters[1].shape, Shape{64});
  const Shape six = Sample(32, 32, 6);
  const auto grouped = Conv2dLayer(4, {.groups = 2}).Parameters({&six, 1}, GetParam());
  EXPECT_EQ(grouped[0].initializer.fan_in, 27);
  EXPECT_EQ(grouped[0].initializer.fan_out, 18);
  // Every output of a depthwise convolution is a sum over its own channel alone.
  const Conv2dLayer depthwise(0, {.grouping = ConvGrouping::kDepthwise});
  const auto initializer = depthwise.Parameters({&input, 1}, GetParam())[0].initializer;
  EXPECT_EQ(initializer.fan_in, 9);
  EXPECT_EQ(initializer.fan_out, 9);
}

TEST_P(Conv2dLayerTest, RefusesWhatDoesNotFit) {
  const Shape small = Sample(2, 2, 1), vector = Shape{10};
  EXPECT_FALSE(Conv2dLayer(4, {}).OutputShape({&small, 1}, GetParam()).ok());
  EXPECT_FALSE(Conv2dLayer(4, {}).OutputShape({&vector, 1}, GetParam()).ok());
  EXPECT_FALSE(Conv2dLayer(0, {.padding = 1}).OutputShape({&small, 1}, GetParam()).ok());
}

TEST(Conv2dLayerCellTest, ShowsTheGeometry) {
  EXPECT_EQ(Conv2dLayer(4, {.stride = {2, 1}, .padding = 1}).SettingsCell(),
            "padd=(1,1), stride=(2,1), dilat=(1,1)");
}

}  // namespace
}  // namespace dtnn
