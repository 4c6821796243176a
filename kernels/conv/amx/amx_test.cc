// The kernels with emulated products, which any machine and the sanitizers can run: every hard size
// against the reference. Where there are the instructions, the same bits from both. How they behave
// within a Conv2d is tested with all variants (conv2d_bfloat16_test.cc).

#include "kernels/amx/amx.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/amx/dots.h"
#include "kernels/amx/tiles.h"
#include "kernels/conv/amx/depth.h"
#include "kernels/conv/amx/tile_data.h"
#include "kernels/conv/amx/tile_filter.h"
#include "kernels/conv/conv2d_cpu.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "kernels/conv/testing/hard_specs.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using conv::Direction;
using testing::Close;
using testing::Conv2dRunner;
using testing::IntegerTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

constexpr DType kHalf = DType::kBfloat16;

template <class Tiles>
Conv2dRunner Runner(const Conv2dSpec& spec) {
  static constexpr conv::Variant kVariant = {
      .name = "tiles",
      .support = [](const Conv2dSpec&, Direction) { return conv::Support(); },
      .bf16 = {.data = &conv::amx::MakeTileData<Tiles>,
               .filter = &conv::amx::MakeTileFilter<Tiles>}};
  return Conv2dRunner([&](DeviceContext&) {
    return conv::CreateConv2dCpu(spec, {{&kVariant, &kVariant, &kVariant}});
  });
}
using RunnerOf = Conv2dRunner (*)(const Conv2dSpec&);

// Both emulations; of many products that of tiles alone, which are cut in the same way.
std::vector<RunnerOf> Emulated(const Conv2dSpec& spec) {
  if (spec.Flops() > 1e8) return {&Runner<EmulatedTiles>};
  return {&Runner<EmulatedTiles>, &Runner<EmulatedDots>};
}

std::vector<double> Rounded(std::vector<double> values) {
  for (double& value : values) value = double(Bfloat16(float(value)));
  return values;
}

// Sizes of tiles beside those that hurt any kernel: whole, one more, and as few as there can be.
std::vector<Conv2dSpec> Specs() {
  std::vector<Conv2dSpec> specs = testing::HardConv2dSpecs();
  const auto add = [&](int64_t n, int64_t h, int64_t w, int64_t c, int64_t f, Pair kernel,
                       Pair stride, Pair padding) {
    Conv2dSpec s;
    s.batch = n, s.height = h, s.width = w, s.channels = c, s.filters = f;
    s.kernel = kernel, s.stride = stride, s.padding = padding;
    specs.push_back(s);
  };
  add(1, 4, 8, 32, 32, 1, 1, 0);   // a pair of whole tiles
  add(1, 3, 11, 32, 33, 1, 1, 0);  // one row and one column more
  add(3, 5, 7, 48, 64, 1, 1, 0);   // where they are, in two steps of 24
  add(1, 6, 9, 16, 16, 3, 1, 1);   // taps side by side in a step
  add(1, 6, 9, 3, 20, Pair(5, 7), 2, Pair(2, 3));
  add(17, 3, 3, 34, 48, 3, 1, 1);  // across images, more than a tile of them
  add(33, 2, 3, 32, 16, 3, 2, 1);
  add(17, 7, 6, 34, 48, 1, Pair(2, 3), 0);  // of which few pixels are read
  add(70, 4, 5, 19, 35, 3, 1, 1);           // and their pixels a step, of several groups of 32,
  add(32, 40, 41, 33, 40, 3, 1, 1);         // cut into strips of rows
  add(40, 7, 6, 16, 48, Pair(5, 3), 2, 1);
  add(1, 70, 40, 4, 4, 3, 1, 1);                       // several blocks of one image
  add(1, 12, 13, 17, 65, Pair(9, 11), 1, Pair(4, 5));  // several groups of taps
  for (Conv2dSpec& spec : specs) spec.dtype = kHalf;
  return specs;
}

class TilesTest : public ::testing::TestWithParam<Conv2dSpec> {
 protected:
  Conv2dSpec spec_ = GetParam();
};

TEST_P(TilesTest, EmulatedResultsAreExactOnIntegersButForOneRounding) {
  const Tensor x = Pitched(IntegerTensor(kHalf, spec_.InputShape(), 1, 3), spec_.format);
  const Tensor dy = Pitched(IntegerTensor(kHalf, spec_.OutputShape(), 2, 3), spec_.format);
  const Tensor w = IntegerTensor(kHalf, spec_.FilterShape(), 3, 3);
  EpilogueOperands operands;
  operands.bias = IntegerTensor(DType::kFloat32, {spec_.filters}, 4, 3);
  operands.scale = IntegerTensor(DType::kFloat32, {spec_.filters}, 5, 3);
  operands.addend = IntegerTensor(kHalf, spec_.OutputShape(), 6, 3);
  const auto y_sums = reference::Conv2dForward(spec_, Values(x), Values(w));
  for (const bool all : {false, true}) {
    spec_.epilogue = {.bias = all, .scale = all, .add = all, .relu = all};
    const std::vector<double> expected = Rounded(reference::ApplyEpilogue(
        spec_, y_sums, Values(operands.bias), Values(operands.scale), Values(operands.addend)));
    for (const RunnerOf emulated : Emulated(spec_)) {
      const Tensor y = Pitched(ZeroTensor(kHalf, spec_.OutputShape()), spec_.format);
      emulated(spec_).Forward(x, w, y, operands);
      EXPECT_TRUE(Close(Values(y), expected, 0));
    }
  }
  const std::vector<double> before = Values(IntegerTensor(kHalf, spec_.InputShape(), 7, 3));
  std::vector<double> expected = reference::Conv2dBackwardData(spec_, Values(dy), Values(w));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
  for (const RunnerOf emulated : Emulated(spec_)) {
    const Tensor dx = Pitched(IntegerTensor(kHalf, spec_.InputShape(), 7, 3), spec_.format);
    emulated(spec_).BackwardData(dy, w, dx, /*accumulate=*/true);
    EXPECT_TRUE(Close(Values(dx), Rounded(expected), 0));
  }
}

TEST_P(TilesTest, EmulatedGradientsOfTheFilterAreExactOnIntegers) {
  const Tensor x = Pitched(IntegerTensor(kHalf, spec_.InputShape(), 1, 3), spec_.format);
  const Tensor dy = Pitched(IntegerTensor(kHalf, spec_.OutputShape(), 2, 3), spec_.format);
  const auto dw_before = [&] { return IntegerTensor(DType::kFloat32, spec_.FilterShape(), 3, 3); };
  const auto dbias_before = [&] { return IntegerTensor(DType::kFloat32, {spec_.filters}, 4, 3); };
  std::vector<double> expected = reference::Conv2dBackwardFilter(spec_, Values(x), Values(dy));
  std::vector<double> expected_bias = reference::Conv2dBackwardBias(spec_, Values(dy));
  const auto add = [](std::vector<double>& to, const std::vector<double>& more) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += more[i];
  };
  add(expected, Values(dw_before())), add(expected_bias, Values(dbias_before()));
  for (const RunnerOf emulated : Emulated(spec_)) {
    const Tensor dw = dw_before(), dbias = dbias_before();
    emulated(spec_).BackwardFilter(x, dy, dw, dbias, /*accumulate=*/true);
    EXPECT_TRUE(Close(Values(dw), expected, 0));
    EXPECT_TRUE(Close(Values(dbias), expected_bias, 0));
  }
}

// An infinity beside the padding meets zeros in the copies alone, and none in the definition.
TEST_P(TilesTest, AnInfinityReachesOnlyTheTapsThatReadIt) {
  const Tensor x = IntegerTensor(kHalf, spec_.InputShape(), 1, 3);
  const Tensor dy = testing::OnesTensor(kHalf, spec_.OutputShape());
  x.data<Bfloat16>()[0] = Bfloat16(std::numeric_limits<float>::infinity());
  for (const RunnerOf emulated : Emulated(spec_)) {
    const Tensor dw = IntegerTensor(DType::kFloat32, spec_.FilterShape(), 2, 3);  // overwritten
    emulated(spec_).BackwardFilter(x, dy, dw, Tensor());
    EXPECT_EQ(Values(dw), reference::Conv2dBackwardFilter(spec_, Values(x), Values(dy)));
  }
}

TEST_P(TilesTest, HardwareGivesTheSameBits) {
  if (!DotRefusal().empty()) GTEST_SKIP() << DotRefusal();
  spec_.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
  const Tensor x = RandomTensor(kHalf, spec_.InputShape(), 1);
  const Tensor dy = RandomTensor(kHalf, spec_.OutputShape(), 2);
  const Tensor w = RandomTensor(kHalf, spec_.FilterShape(), 3);
  EpilogueOperands operands;
  operands.bias = RandomTensor(DType::kFloat32, {spec_.filters}, 4);
  operands.scale = RandomTensor(DType::kFloat32, {spec_.filters}, 5);
  operands.addend = RandomTensor(kHalf, spec_.OutputShape(), 6);
  const auto run = [&](Conv2dRunner runner) {
    const Tensor y = ZeroTensor(kHalf, spec_.OutputShape());
    const Tensor dx = ZeroTensor(kHalf, spec_.InputShape());
    runner.Forward(x, w, y, operands);
    runner.BackwardData(dy, w, dx);
    const Tensor dw = ZeroTensor(DType::kFloat32, spec_.FilterShape());
    const Tensor dbias = ZeroTensor(DType::kFloat32, {spec_.filters});
    runner.BackwardFilter(x, dy, dw, dbias);
    return std::tuple(Values(y), Values(dx), Values(dw), Values(dbias));
  };
  if (spec_.Flops() <= 1e8) {
    EXPECT_EQ(run(Runner<HardwareDots>(spec_)), run(Runner<EmulatedDots>(spec_)));
  }
#ifdef DTNN_HAS_TILES
  if (!AmxRefusal().empty()) return;
  EXPECT_EQ(run(Runner<HardwareTiles>(spec_)), run(Runner<EmulatedTiles>(spec_)));
#endif
}

INSTANTIATE_TEST_SUITE_P(Hard, TilesTest, ::testing::ValuesIn(Specs()),
                         [](const auto& info) { return info.param.ToString(); });

TEST(TileFilterTest, TheGradientOfNoImagesIsZero) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    Conv2dSpec spec;
    spec.dtype = kHalf, spec.filter_format = format;
    spec.batch = 2, spec.height = spec.width = 5, spec.channels = 3, spec.filters = 4;
    const Tensor dw = testing::OnesTensor(DType::kFloat32, spec.FilterShape());
    const auto kernel = conv::amx::MakeTileFilter<EmulatedTiles>(spec);
    std::vector<std::byte> workspace(kernel->workspace_bytes() + 64);
    std::byte* const aligned =
        workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64);
    conv::FilterKernel<Bfloat16>::Gradient gradient;
    gradient.dfilter = conv::Filter<float>::Of(dw, spec);
    kernel->Sum({}, {}, /*images=*/0, /*first=*/true, gradient, aligned);
    kernel->Write(gradient, aligned);
    EXPECT_EQ(Values(dw), std::vector<double>(size_t(spec.FilterShape().NumElements()), 0.0));
  }
}

// Padded to whole tiles, and once: not for each split of the pixels, nor for each thread.
TEST(TileFilterTest, ManyTapsTakeTheMemoryOfTheirSums) {
  constexpr int64_t kThreads = 8, kCopies = 3 << 20;
  const int before = NumThreads();
  SetNumThreads(kThreads);
  const auto expect = [&](int64_t channels, int64_t filters, int64_t kernel) {
    Conv2dSpec spec;
    spec.dtype = kHalf;
    spec.batch = 1, spec.height = spec.width = 100;
    spec.channels = channels, spec.filters = filters;
    spec.kernel = kernel, spec.padding = kernel / 2;
    const int64_t sums = kernel * kernel * RoundUp(channels, 16) * RoundUp(filters, 16) * 4;
    const size_t bytes = conv::amx::MakeTileFilter<EmulatedTiles>(spec)->workspace_bytes();
    EXPECT_LT(bytes, size_t(sums + kThreads * (128 << 10) + kCopies)) << spec.ToString();
  };
  expect(3, 8, 101);
  expect(3, 96, 31);
  expect(48, 40, 21);
  SetNumThreads(before);
}

TEST(DepthTest, DividesARunIntoAsFewEqualStepsAsPossible) {
  for (int64_t pixels = 1; pixels <= 7; ++pixels) {
    for (int64_t channels = 1; channels <= 200; ++channels) {
      const conv::amx::Depth depth = conv::amx::Depth::Of(channels, pixels);
      EXPECT_GE(depth.channels, channels);
      EXPECT_EQ(depth.channels % 2, 0);
      EXPECT_EQ(depth.step % 2, 0);
      EXPECT_LE(depth.step, 32);
      EXPECT_EQ(depth.step * depth.steps, depth.channels * pixels);
      // No more steps than rounding the channels up to whole tiles would need.
      EXPECT_LE(depth.steps, pixels * ((channels + 31) / 32)) << channels << ", " << pixels;
    }
  }
}

}  // namespace
}  // namespace dtnn
