#include <string>

#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"

namespace dtnn {
namespace {

Conv2dSpec Small() {
  Conv2dSpec spec;
  spec.batch = 4, spec.height = 9, spec.width = 9, spec.channels = 8, spec.filters = 16;
  spec.padding = 1;
  return spec;
}

TEST(Conv2dSpecTest, OutputExtents) {
  Conv2dSpec spec = Small();
  EXPECT_EQ(spec.out_height(), 9);
  spec.stride = Pair(2, 3);
  spec.dilation = Pair(1, 2);
  EXPECT_EQ(spec.out_height(), 5);
  EXPECT_EQ(spec.out_width(), 3);
  EXPECT_EQ(spec.FilterShape(), (Shape{8, 3, 3, 16}));
  EXPECT_EQ(spec.Flops(), 2.0 * 4 * 5 * 3 * 16 * 8 * 9);
  spec.format = TensorFormat::kNCHW;
  EXPECT_EQ(spec.FilterShape(), (Shape{16, 8, 3, 3}));
  EXPECT_EQ(spec.OutputShape(), (Shape{4, 16, 5, 3}));
}

TEST(Conv2dSpecTest, Token) {
  Conv2dSpec spec;
  spec.batch = 64, spec.height = 32, spec.width = 32, spec.channels = 64, spec.filters = 64;
  spec.padding = 1;
  EXPECT_EQ(spec.ToString(), "n64h32w32c64_k64r3s3p1x1_nhwc_f32");
  spec.stride = 2, spec.dilation = Pair(2, 1), spec.groups = 4;
  spec.format = TensorFormat::kNCHW, spec.dtype = DType::kFloat64;
  spec.epilogue = {.bias = true, .relu = true};
  EXPECT_EQ(spec.ToString(), "n64h32w32c64_k64r3s3p1x1u2x2d2x1g4_nchw_f64_bias_relu");
}

TEST(Conv2dSpecTest, NamesTheFieldThatIsWrong) {
  const auto expect = [](auto change, const char* word) {
    Conv2dSpec spec = Small();
    change(spec);
    const absl::Status status = spec.Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << status;
  };
  expect([](auto& s) { s.batch = 0; }, "batch");
  expect([](auto& s) { s.height = -1; }, "height");
  expect([](auto& s) { s.width = int64_t{1} << 40; }, "width");
  expect([](auto& s) { s.channels = 0; }, "channels");
  expect([](auto& s) { s.filters = 0; }, "filters");
  expect([](auto& s) { s.kernel = Pair(0, 1); }, "vertical kernel");
  expect([](auto& s) { s.stride = Pair(1, 0); }, "horizontal stride");
  expect([](auto& s) { s.padding = -1; }, "padding");
  expect([](auto& s) { s.dilation = 0; }, "dilation");
  expect([](auto& s) { s.groups = 3; }, "groups");
  expect([](auto& s) { s.dtype = DType::kInt32; },
         "dtype is int32, must be float32, float64, bfloat16 or float16");
  expect([](auto& s) { s.kernel = 12; }, "output height");
  expect([](auto& s) { s.kernel = Pair(1, 12); }, "output width");
  expect([](auto& s) { s.channels = s.filters = 1 << 20; },
         "the filter exceeds 1099511627776 bytes");
  expect([](auto& s) { s.width = 1 << 22; },
         "padded width is 4194306, expected at most 1398101 with a kernel of 3");
  EXPECT_TRUE(Small().Validate().ok());
}

TEST(Conv2dSpecTest, WhatIsAtItsLimitIsTaken) {
  Conv2dSpec spec;
  spec.batch = spec.height = spec.width = spec.channels = spec.filters = 1;
  spec.kernel = 1;
  const auto error = [](const Conv2dSpec& spec) { return std::string(spec.Validate().message()); };
  spec.batch = int64_t{1} << 30;
  EXPECT_EQ(error(spec), "");
  ++spec.batch;
  EXPECT_EQ(error(spec), "convolution: batch is 1073741825, must be between 1 and 1073741824");
  spec.batch = 1;
  spec.width = 4194304;
  EXPECT_EQ(error(spec), "");
  ++spec.width;
  EXPECT_EQ(error(spec),
            "convolution: padded width is 4194305, expected at most 4194304 with a kernel of 1");
  spec.width = 1;
  spec.channels = int64_t{1} << 27;  // 2^40 bytes of the input, as of doubles
  spec.batch = 1024;
  EXPECT_EQ(error(spec), "");
  ++spec.batch;
  EXPECT_EQ(error(spec), "convolution: the input exceeds 1099511627776 bytes");
}

// No table is built, and no memory is taken, for an output that nobody could hold.
TEST(CreateConv2dTest, PaddingThatMakesTheOutputHugeIsAStatus) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const Pair padding : {Pair(1 << 28), Pair(1 << 28, 0), Pair(0, 1 << 28), Pair(1 << 21, 0)}) {
    Conv2dSpec spec;
    spec.batch = spec.height = spec.width = spec.channels = spec.filters = 1;
    spec.kernel = 1;
    spec.padding = padding;
    for (const std::string_view variant : Conv2dVariantNames()) {
      EXPECT_EQ(CreateConv2d(*context, spec, variant).status().code(),
                absl::StatusCode::kInvalidArgument);
    }
    EXPECT_NE(std::string(spec.Validate().message()).find("expected at most 4194304"),
              std::string::npos)
        << spec.Validate();
  }
}

// Nor for a padding that a large stride, or a large dilation, makes up for.
TEST(CreateConv2dTest, PaddingBeyondTheTablesIsAStatus) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto expect_refused = [&](auto change) {
    Conv2dSpec spec;
    spec.batch = spec.channels = spec.filters = 1;
    spec.height = spec.width = spec.kernel.vertical = spec.kernel.horizontal = 2;
    change(spec);
    for (const std::string_view variant : Conv2dVariantNames()) {
      const absl::Status status = CreateConv2d(*context, spec, variant).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(std::string(status.message()).find("padded "), std::string::npos) << status;
    }
  };
  expect_refused([](auto& s) { s.stride = 1 << 28, s.padding = (1 << 30) - 1; });
  expect_refused([](auto& s) {
    s.kernel = Pair(2, 4), s.stride = Pair(1 << 20, 2501);
    s.padding = Pair((1 << 30) - 2, 1 << 30);
  });
  expect_refused([](auto& s) { s.padding = 1 << 29, s.dilation = 1 << 30; });
  expect_refused([](auto& s) { s.padding = Pair(1 << 21, 0), s.stride = Pair(1 << 20, 1); });
}

TEST(CreateConv2dTest, NamesTheVariantsAndTheReason) {
  auto context = *DeviceContext::Create(Device::Cpu());
  const auto unknown = CreateConv2d(*context, Small(), "i3c").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::string(unknown.message())
                  .starts_with("unknown convolution variant \"i3c\"; must be one of: i2c, "))
      << unknown;
  Conv2dSpec strided = Small();
  strided.stride = 2;
  const auto refused = CreateConv2d(*context, strided, "direct").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(refused.message()).find("direct, forward of "), std::string::npos);
  EXPECT_NE(std::string(refused.message()).find("stride 1"), std::string::npos);
}

TEST(CreateConv2dTest, DepthwiseIsForAsManyFiltersAsChannels) {
  auto context = *DeviceContext::Create(Device::Cpu());
  Conv2dSpec spec = Small();
  spec.groups = spec.filters = spec.channels;
  for (const conv::Direction direction : conv::kDirections) {
    EXPECT_EQ(AutomaticVariant(spec, direction), "depthwise");
  }
  spec.filters *= 2;
  const auto refused = CreateConv2d(*context, spec, "depthwise").status();
  EXPECT_NE(std::string(refused.message()).find("as many filters and groups as channels"),
            std::string::npos)
      << refused;
  for (const conv::Direction direction : conv::kDirections) {
    EXPECT_NE(AutomaticVariant(spec, direction), "depthwise");
  }
}

// Above 3 MB of transformed elements a filter is not kept, since it would come from memory.
TEST(WinogradTest, KeepsFiltersUpToALimit) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto kept = [&](int64_t filters) {
    Conv2dSpec spec = Small();
    spec.height = spec.width = 16, spec.channels = 128, spec.filters = filters;
    return (*CreateConv2d(
                *context, spec, "winograd",
                {.directions = conv::Only(conv::Direction::kForward), .keeps_filter = true}))
        ->kept_bytes();
  };
  EXPECT_GT(kept(170), 128u * 170 * 36 * sizeof(float) - 1);  // 3 133 440 bytes of 3 145 728
  EXPECT_EQ(kept(171), 0u);
}

TEST(CreateConv2dTest, ChoosesAVariantPerDirection) {
  auto context = *DeviceContext::Create(Device::Cpu());
  Conv2dVariants variants;
  variants[conv::Direction::kBackwardData] = "gemm";
  const auto conv = *CreateConv2d(*context, Small(), variants);
  EXPECT_EQ(conv->variant(conv::Direction::kBackwardData), "gemm");
  EXPECT_EQ(conv->variant(conv::Direction::kForward),
            AutomaticVariant(Small(), conv::Direction::kForward));
}

}  // namespace
}  // namespace dtnn
