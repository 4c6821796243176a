#include <string>

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
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
  expect([](auto& s) { s.dtype = DType::kInt32; }, "int32");
  expect([](auto& s) { s.kernel = 12; }, "output height");
  expect([](auto& s) { s.kernel = Pair(1, 12); }, "output width");
  expect([](auto& s) { s.channels = s.filters = 1 << 20; },
         "the filter exceeds 1099511627776 bytes");
  expect([](auto& s) { s.width = 1 << 22; },
         "padded width is 4194306, expected at most 1398101 with a kernel of 3");
  EXPECT_TRUE(Small().Validate().ok());
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

// For each direction the first letter of `variant` where it is the automatic choice, else "-".
std::string WhereChosen(std::string_view variant, Conv2dSpec spec, void (*change)(Conv2dSpec&)) {
  change(spec);
  std::string text;
  for (const conv::Direction direction : conv::kDirections) {
    text += AutomaticVariant(spec, direction) == variant ? variant[0] : '-';
  }
  return text;
}

TEST(AutomaticVariantTest, WinogradIsForManyChannelsAndTilesOfSmallKernels) {
  Conv2dSpec common;
  common.batch = common.channels = common.filters = 64;
  common.height = common.width = 16;
  common.padding = 1;
  const auto chosen = [&](void (*change)(Conv2dSpec&)) {
    return WhereChosen("winograd", common, change);
  };
  EXPECT_EQ(chosen([](Conv2dSpec&) {}), "www");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 3; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.groups = 16; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.stride = 2; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.height = spec.width = 2; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.height = spec.width = 3; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.height = spec.width = 5; }), "www");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.kernel = 5, spec.padding = 2; }), "www");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.kernel = 7, spec.padding = 3; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 1, spec.height = spec.width = 12; }), "w--");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = spec.height = 1; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 1, spec.height = spec.width = 8; }), "w--");
}

TEST(AutomaticVariantTest, DirectIsForFewChannelsAndFilters) {
  Conv2dSpec common;
  common.batch = 64, common.channels = 3, common.filters = 8;
  common.height = common.width = 28;
  common.padding = 1;
  const auto chosen = [&](void (*change)(Conv2dSpec&)) {
    return WhereChosen("direct", common, change);
  };
  EXPECT_EQ(chosen([](Conv2dSpec&) {}), "ddd");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.filters = 12; }), "dd-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = spec.filters = 64; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.kernel = 1, spec.padding = 0; }), "-d-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.stride = 2; }), "---");
}

// The automatic choice on both sides of each of its limits; a wrong one would only cost time.
TEST(AutomaticVariantTest, AtItsLimits) {
  struct Case {
    const char* chosen;  // i2c, gemm, direct, winograd, depthwise (p): forward, data, filter
    int64_t batch, height, width, channels, filters;
    Pair kernel, padding;
    Pair dilation = 1;
    int64_t groups = 1;
  };
  const Case cases[] = {
      // winograd: 4 channels and filters, 144 of their products,
      {"www", 64, 16, 16, 4, 36, 3, 1},
      {"ggg", 64, 16, 16, 4, 35, 3, 1},
      {"ggg", 64, 16, 16, 3, 64, 3, 1},
      {"www", 64, 16, 16, 36, 4, 3, 1},
      {"ggg", 64, 16, 16, 64, 3, 3, 1},
      {"www", 64, 16, 16, 12, 12, 3, 1},
      // one and a half times as few products,
      {"www", 64, 3, 16, 64, 64, 3, 1},
      {"ggg", 64, 2, 16, 64, 64, 3, 1},
      {"www", 64, 4, 4, 64, 64, 3, 1},
      {"ggg", 64, 3, 3, 64, 64, 3, 1},
      // 16 tiles for the gradient of the input, and for that of the filter more the less they save.
      {"www", 1, 16, 16, 64, 64, 3, 1},
      {"wgw", 1, 12, 20, 64, 64, 3, 1},
      {"wgg", 1, 12, 16, 64, 64, 3, 1},
      {"wgw", 1, 12, 12, 64, 64, 5, 2},
      {"wgg", 1, 8, 16, 64, 64, 5, 2},
      // direct: fewer than 16 results of a pixel, from at most 32,
      {"ddg", 64, 28, 28, 3, 15, 3, 1},
      {"gdg", 64, 28, 28, 3, 16, 3, 1},
      {"gdg", 64, 28, 28, 3, 32, 3, 1},
      {"ggg", 64, 28, 28, 3, 33, 3, 1},
      // for the filter 8 filters and 4 channels,
      {"ddd", 64, 28, 28, 4, 8, 3, 1},
      {"ddg", 64, 28, 28, 5, 8, 3, 1},
      {"ddg", 64, 28, 28, 4, 9, 3, 1},
      // 4 results where there is one tap,
      {"ddg", 64, 28, 28, 3, 4, 1, 0},
      {"gdg", 64, 28, 28, 3, 5, 1, 0},
      {"dgg", 64, 28, 28, 5, 4, 1, 0},
      // maps of 8 columns, twice as wide as the kernel reaches,
      {"ddd", 64, 28, 8, 3, 8, 3, 1},
      {"ggg", 64, 28, 7, 3, 8, 3, 1},
      {"ddd", 64, 28, 12, 3, 8, Pair(1, 7), Pair(0, 3)},
      {"ggg", 64, 28, 11, 3, 8, Pair(1, 7), Pair(0, 3)},
      // 64 rows from the first tap to the last, and 4096 terms of a sum.
      {"ddd", 1, 200, 28, 3, 8, 3, Pair(32, 1), Pair(32, 1)},
      {"ggg", 1, 200, 28, 3, 8, 3, Pair(33, 1), Pair(33, 1)},
      {"dgg", 1, 28, 28, 32, 8, 11, 5},
      {"ggg", 1, 29, 29, 32, 8, 12, 6},
      // depthwise: more than one channel.
      {"ppp", 1, 28, 28, 2, 2, 3, 1, 1, 2},
      {"ddd", 1, 28, 28, 1, 1, 3, 1, 1, 1},
  };
  for (const Case& c : cases) {
    Conv2dSpec spec;
    spec.batch = c.batch, spec.height = c.height, spec.width = c.width;
    spec.channels = c.channels, spec.filters = c.filters, spec.groups = c.groups;
    spec.kernel = c.kernel, spec.padding = c.padding, spec.dilation = c.dilation;
    ASSERT_EQ(spec.Validate(), absl::OkStatus());
    std::string chosen;
    for (const conv::Direction direction : conv::kDirections) {
      const std::string_view name = AutomaticVariant(spec, direction);
      chosen += name == "depthwise" ? 'p' : name[0];
    }
    EXPECT_EQ(chosen, c.chosen) << spec.ToString();
  }
}

TEST(AutomaticVariantTest, TilesAreForManyPixelsAndChannels) {
  if (!AmxRefusal().empty()) GTEST_SKIP() << "amx " << AmxRefusal();
  Conv2dSpec common;
  common.dtype = DType::kBfloat16;
  common.batch = 1, common.height = common.width = 32, common.channels = 3, common.filters = 8;
  common.padding = 1;
  const auto chosen = [&](void (*change)(Conv2dSpec&)) {
    return WhereChosen("amx", common, change);
  };
  // 1024 pixels of the whole batch, for the filter,
  EXPECT_EQ(chosen([](Conv2dSpec&) {}), "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.height = 31; }), "aa-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.height = 31, spec.width = 33; }), "aa-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 64, spec.height = spec.width = 4; }), "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 63, spec.height = spec.width = 4; }), "aa-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.stride = 2; }), "aa-");
  // and 3 and 8 channels and filters of a group, in either order.
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 8, spec.filters = 3; }), "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 2; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.filters = 7; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 6, spec.filters = 16, spec.groups = 2; }),
            "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 6, spec.filters = 14, spec.groups = 2; }),
            "---");
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
