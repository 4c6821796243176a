#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
#include "kernels/conv/conv2d.h"

namespace dtnn {
namespace {

// A letter for each direction: the first of the variant's name, depthwise "p".
std::string Chosen(const Conv2dSpec& spec) {
  std::string chosen;
  for (const conv::Direction direction : conv::kDirections) {
    const std::string_view name = AutomaticVariant(spec, direction);
    chosen += name == "depthwise" ? 'p' : name == "dot" ? 'o' : name[0];
  }
  return chosen;
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
      // A large filter needs more tiles, or larger ones.
      {"ggg", 1, 4, 4, 512, 512, 3, 1},
      {"ggg", 2, 4, 4, 512, 512, 3, 1},
      {"wgg", 3, 4, 4, 512, 512, 3, 1},
      {"wgg", 1, 4, 4, 64, 64, 3, 1},
      {"wgg", 1, 7, 7, 512, 512, 3, 1},
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
    EXPECT_EQ(Chosen(spec), c.chosen) << spec.ToString();
  }
}

TEST(AutomaticVariantTest, TilesAreForManyPixelsAndChannels) {
  if (!AmxRefusal().empty()) GTEST_SKIP() << "amx " << AmxRefusal();
  Conv2dSpec common;
  common.dtype = DType::kBfloat16;
  common.batch = 1, common.height = 1, common.width = 32, common.channels = 3, common.filters = 16;
  common.padding = 1;
  const auto chosen = [&](void (*change)(Conv2dSpec&)) {
    return WhereChosen("amx", common, change);
  };
  // 32 pixels of the whole batch, for the filter,
  EXPECT_EQ(chosen([](Conv2dSpec&) {}), "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.width = 31; }), "aa-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 8, spec.height = spec.width = 2; }), "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 7, spec.height = spec.width = 2; }), "aa-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.stride = 2; }), "aa-");
  // and 3 and 8 channels and filters of a group, in either order, for the filter 3 and 16.
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 16, spec.filters = 3; }), "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 2; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.filters = 15; }), "aa-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 8, spec.filters = 3; }), "aa-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.filters = 7; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 6, spec.filters = 32, spec.groups = 2; }),
            "aaa");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 6, spec.filters = 14, spec.groups = 2; }),
            "---");
}

TEST(AutomaticVariantTest, DotsAreForPanelsOfResults) {
  if (!DotRefusal().empty() || !DotsAreFast() || AmxRefusal().empty()) {
    GTEST_SKIP() << "dot products are slow, or not there, or slower than tiles";
  }
  Conv2dSpec common;
  common.dtype = DType::kBfloat16;
  common.batch = 1, common.height = 8, common.width = 9, common.channels = 8, common.filters = 16;
  common.padding = 1, common.stride = 2;
  const auto chosen = [&](void (*change)(Conv2dSpec&)) {
    std::string text = WhereChosen("dot", common, change);
    std::ranges::replace(text, 'd', 'o');
    return text;
  };
  EXPECT_EQ(chosen([](Conv2dSpec&) {}), "oo-");  // 20 results, and for the filter 32
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 2; }), "ooo");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 2, spec.channels = 7; }), "o-o");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 3; }), "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.channels = 4; }), "o--");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.filters = 7; }), "-o-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) { spec.batch = 2, spec.filters = 15; }), "oo-");
  // A single tap needs more of them,
  EXPECT_EQ(chosen([](Conv2dSpec& spec) {
              spec.batch = 2, spec.kernel = 1, spec.padding = 0;
              spec.channels = spec.filters = 56;
            }),
            "ooo");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) {
              spec.batch = 2, spec.kernel = 1, spec.padding = 0;
              spec.channels = spec.filters = 55;
            }),
            "oo-");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) {
              spec.batch = 2, spec.kernel = 1, spec.padding = 0, spec.channels = 15;
            }),
            "-o-");
  // and many taps fewer. Winograd is chosen where it saves most products.
  EXPECT_EQ(chosen([](Conv2dSpec& spec) {
              spec.batch = 2, spec.kernel = 7, spec.padding = 3, spec.channels = 3;
              spec.filters = 32;
            }),
            "o-o");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) {
              spec.batch = 64, spec.stride = 1, spec.channels = spec.filters = 64;
              spec.height = spec.width = 16;
            }),
            "---");
  EXPECT_EQ(chosen([](Conv2dSpec& spec) {
              spec.batch = 64, spec.stride = 1, spec.channels = spec.filters = 64;
              spec.height = spec.width = 2;
            }),
            "ooo");
}

// The convolutions of bench/shapes/networks.txt, in float32 and in bfloat16: on CPUs with AMX, and
// on those with fast dot products.
TEST(AutomaticVariantTest, OfMeasuredNetworks) {
  std::ifstream shapes("bench/shapes/networks.txt");
  std::ifstream golden("kernels/conv/testdata/networks.txt");
  std::string line, all;
  int lines = 0;
  while (std::getline(shapes, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Conv2dSpec s;
    std::string repeat, name, expected_name, float32, in_tiles, by_dots;
    words >> s.batch >> s.channels >> s.height >> s.width >> s.filters >> s.kernel.vertical >>
        s.kernel.horizontal >> s.stride.vertical >> s.stride.horizontal >> s.padding.vertical >>
        s.padding.horizontal >> s.groups >> repeat >> name;
    ASSERT_EQ(s.Validate(), absl::OkStatus()) << line;
    const std::string chosen = Chosen(s);
    s.dtype = DType::kBfloat16;
    const std::string chosen16 = Chosen(s);
    all += name + " " + chosen + " " + chosen16 + "\n";
    golden >> expected_name >> float32 >> in_tiles >> by_dots;
    ++lines;
    EXPECT_EQ(name, expected_name);
    EXPECT_EQ(chosen, float32) << name;
    if (AmxRefusal().empty()) {
      EXPECT_EQ(chosen16, in_tiles) << name << " in bfloat16";
    } else if (DotRefusal().empty() && DotsAreFast()) {
      EXPECT_EQ(chosen16, by_dots) << name << " in bfloat16";
    }
  }
  EXPECT_GT(lines, 90);
  EXPECT_TRUE(golden >> std::ws && golden.eof()) << "networks.txt has fewer shapes";
  if (HasFailure()) std::printf("The choices:\n%s", all.c_str());
}

}  // namespace
}  // namespace dtnn
