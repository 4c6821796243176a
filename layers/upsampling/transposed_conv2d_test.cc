#include "layers/upsampling/transposed_conv2d.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;
using ::dtnn::testing::Close;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;
using ::testing::MatchesRegex;

class TransposedConv2dLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  bool nhwc() const { return GetParam() == TensorFormat::kNHWC; }
  Shape Sample(int64_t h, int64_t w, int64_t c) { return SampleShape({h, w, c}, GetParam()); }
  std::string Refusal(int64_t filters, const TransposedConv2dOptions& options, const Shape& input) {
    return std::string(TransposedConv2dLayer(filters, options)
                           .OutputShape({&input, 1}, GetParam())
                           .status()
                           .message());
  }

  // The definition: every element of x adds its part to all outputs that it reaches.
  std::vector<double> Reference(const TransposedConv2dOptions& o, const ImageExtents& in,
                                const ImageExtents& out, int64_t batch,
                                const std::vector<double>& x, const std::vector<double>& w,
                                const std::vector<double>& bias) {
    const auto at = [&](const ImageExtents& image, int64_t n, int64_t h, int64_t v, int64_t c) {
      return nhwc() ? size_t(((n * image.height + h) * image.width + v) * image.channels + c)
                    : size_t(((n * image.channels + c) * image.height + h) * image.width + v);
    };
    const int64_t of_group = out.channels / o.groups, c_of_group = in.channels / o.groups;
    std::vector<double> y(size_t(batch * out.height * out.width * out.channels));
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t f = 0; f < out.channels; ++f) {
        for (int64_t h = 0; h < out.height; ++h) {
          for (int64_t v = 0; v < out.width; ++v) y[at(out, n, h, v, f)] = bias[size_t(f)];
        }
        for (int64_t c = f / of_group * c_of_group; c < (f / of_group + 1) * c_of_group; ++c) {
          for (int64_t h = 0; h < in.height; ++h) {
            for (int64_t v = 0; v < in.width; ++v) {
              for (int64_t a = 0; a < o.kernel.vertical; ++a) {
                for (int64_t b = 0; b < o.kernel.horizontal; ++b) {
                  const int64_t row =
                      h * o.stride.vertical - o.padding.vertical + a * o.dilation.vertical;
                  const int64_t column =
                      v * o.stride.horizontal - o.padding.horizontal + b * o.dilation.horizontal;
                  if (row < 0 || row >= out.height || column < 0 || column >= out.width) continue;
                  const int64_t kh = o.kernel.vertical, kw = o.kernel.horizontal;
                  const int64_t weight = nhwc()
                                             ? ((f % of_group * kh + a) * kw + b) * in.channels + c
                                             : ((c * of_group + f % of_group) * kh + a) * kw + b;
                  y[at(out, n, row, column, f)] += x[at(in, n, h, v, c)] * w[size_t(weight)];
                }
              }
            }
          }
        }
      }
    }
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, TransposedConv2dLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

const TransposedConv2dOptions kOptions[] = {
    {.kernel = 2, .stride = 2},
    {.kernel = 3, .stride = 2, .padding = 1, .output_padding = 1},
    {.kernel = {3, 2}, .stride = {1, 3}, .padding = {2, 0}, .output_padding = {0, 2}},
    {.kernel = 2, .dilation = {2, 1}, .groups = 2},
    {.kernel = 1, .bias = false},
};

TEST_P(TransposedConv2dLayerTest, ForwardEqualsTheDefinition) {
  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  const ImageExtents in = {4, 3, 6};
  const Shape sample = SampleShape(in, GetParam());
  for (const TransposedConv2dOptions& options : kOptions) {
    const TransposedConv2dLayer layer(4, options);
    const absl::StatusOr<Shape> output = layer.OutputShape({&sample, 1}, GetParam());
    ASSERT_EQ(output.status(), absl::OkStatus());
    BindContext bind;
    bind.device = context.get();
    bind.batch = 2;
    bind.dtype = DType::kFloat64;
    bind.format = GetParam();
    bind.inputs = {sample};
    bind.output = *output;
    const auto op = layer.Bind(bind);
    ASSERT_EQ(op.status(), absl::OkStatus());
    const auto bytes = [](size_t count) {
      return *Tensor::Zeros(DType::kUint8, Shape{std::max<int64_t>(1, int64_t(count))});
    };
    const Tensor workspace = bytes((*op)->traits().workspace_bytes);
    if ((*op)->traits().kept_bytes > 0) {
      ASSERT_EQ((*op)->Keep(*Buffer::Allocate(Device::Cpu(), (*op)->traits().kept_bytes)),
                absl::OkStatus());
    }
    const std::vector<ParameterSpec> specs = layer.Parameters({&sample, 1}, GetParam());
    const Tensor x = RandomTensor(DType::kFloat64, sample.Prepend(2), 1),
                 w = RandomTensor(DType::kFloat64, specs[0].shape, 2),
                 b = RandomTensor(DType::kFloat64, {4}, 3),
                 y = RandomTensor(DType::kFloat64, output->Prepend(2), 4);
    const ParameterView parameters[] = {{w, 1}, {b, 1}};
    ASSERT_EQ(
        (*op)->Forward({.inputs = {&x, 1},
                        .output = y,
                        .parameters = std::span(parameters, options.bias ? 2 : 1),
                        .workspace = {workspace.raw_data(), size_t(workspace.num_elements())}}),
        absl::OkStatus());
    EXPECT_THAT((*op)->Algorithms(), MatchesRegex("forward [a-z]+"));
    EXPECT_TRUE(Close(Values(y),
                      Reference(options, in, ExtentsOf(*output, GetParam()), 2, Values(x),
                                Values(w), options.bias ? Values(b) : std::vector<double>(4)),
                      1e-12))
        << layer.SettingsCell();
  }
}

// In the order in which they run, by what they are of the layer.
TEST_P(TransposedConv2dLayerTest, NamesTheAlgorithmsOfItsDirections) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const Shape sample = Sample(5, 6, 2);
  const TransposedConv2dLayer layer(4, {.kernel = {3, 2}, .stride = 2});
  BindContext bind;
  bind.device = context.get();
  bind.batch = 2;
  bind.format = GetParam();
  bind.inputs = {sample};
  bind.output = *layer.OutputShape({&sample, 1}, GetParam());
  const auto algorithms = [&](bool training, bool frozen, bool input_gradient) {
    bind.training = training;
    bind.frozen = frozen;
    bind.input_gradient = input_gradient;
    return (*layer.Bind(bind))->Algorithms();
  };
  EXPECT_THAT(algorithms(true, false, true),
              MatchesRegex("forward [a-z]+, backward data [a-z]+, backward filter [a-z]+"));
  EXPECT_THAT(algorithms(true, true, true), MatchesRegex("forward [a-z]+, backward data [a-z]+"));
  EXPECT_THAT(algorithms(true, false, false),
              MatchesRegex("forward [a-z]+, backward filter [a-z]+"));
  EXPECT_THAT(algorithms(false, false, true), MatchesRegex("forward [a-z]+"));
}

TEST_P(TransposedConv2dLayerTest, Gradients) {
  for (const TransposedConv2dOptions& options : kOptions) {
    EXPECT_TRUE(CheckGradients(TransposedConv2dLayer(4, options), {Sample(3, 4, 2)}, GetParam()));
  }
}

TEST_P(TransposedConv2dLayerTest, TheOutputIsWhatTheConvolutionTook) {
  const Shape image = Sample(5, 7, 6);
  const auto output = [&](const TransposedConv2dOptions& options) {
    return *TransposedConv2dLayer(4, options).OutputShape({&image, 1}, GetParam());
  };
  EXPECT_EQ(output({.kernel = 2, .stride = 2}), Sample(10, 14, 4));
  EXPECT_EQ(output({.stride = 2, .padding = 1, .output_padding = 1}), Sample(10, 14, 4));
  EXPECT_EQ(output({.kernel = 4, .dilation = {1, 3}}), Sample(8, 16, 4));
  const TransposedConv2dLayer layer(
      4, {.kernel = {2, 3}, .stride = 2, .output_padding = {0, 1}, .groups = 2});
  EXPECT_EQ(layer.Parameters({&image, 1}, GetParam())[0].shape,
            nhwc() ? (Shape{2, 2, 3, 6}) : (Shape{6, 2, 2, 3}));
  EXPECT_EQ(layer.MultiplyAdds({&image, 1}, GetParam()), 5 * 7 * 6 * 2 * 6);
  EXPECT_EQ(layer.SettingsCell(),
            "padd=(0,0), stride=(2,2), dilat=(1,1), output_padding=(0, 1), groups=2");
}

TEST_P(TransposedConv2dLayerTest, SaysWhatItRefuses) {
  const Shape image = Sample(2, 2, 6);
  EXPECT_EQ(Refusal(4, {}, image), "");
  EXPECT_EQ(Refusal(4, {.stride = {1, 0}}, image), "stride is 0, expected 1 to 16777216");
  EXPECT_EQ(Refusal(4, {.dilation = 16777217}, image),
            "dilation is 16777217, expected 1 to 16777216");
  EXPECT_EQ(Refusal(4, {.padding = -1}, image), "padding is -1, expected 0 to 16777216");
  EXPECT_EQ(Refusal(4, {.stride = 2, .output_padding = {0, 2}}, image),
            "output_padding is not less than stride: the convolution from the output back would "
            "have another size than the input");
  EXPECT_NE(Refusal(4, {.stride = 1, .output_padding = {1, 0}, .dilation = 2}, image), "");
  EXPECT_EQ(Refusal(4, {.kernel = 1}, Sample(16777217, 1, 1)),
            "takes an image of 16777217x1x1, expected a height and width of 16777216 at most");
  EXPECT_EQ(Refusal(1, {.kernel = 1}, Sample(4194304, 1, 1)), "");
  EXPECT_EQ(Refusal(4, {.padding = 2}, image),
            "makes an image of 0 x 0 of one of 2x2x6; less padding would help");
  EXPECT_NE(Refusal(5, {.groups = 2}, image).find("groups"), std::string::npos);
  EXPECT_NE(Refusal(-1, {}, image), "");
  EXPECT_NE(Refusal(4, {}, Shape{10}), "");
}

}  // namespace
}  // namespace dtnn
