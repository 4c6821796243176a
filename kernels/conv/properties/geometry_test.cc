// Geometry far from that of networks: dilation, stride and padding beyond kernel and image. What a
// file of a network may ask for must be refused, or be computed exactly, in memory and time of the
// order of the tensors'.

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using conv::Direction;
using testing::Close;
using testing::Conv2dRunner;
using testing::IntegerTensor;
using testing::Values;
using testing::WhereSupported;
using testing::ZeroTensor;

Conv2dSpec Spec(int64_t n, int64_t h, int64_t w, int64_t c, int64_t f, Pair kernel, Pair stride,
                Pair padding, Pair dilation) {
  Conv2dSpec spec;
  spec.batch = n, spec.height = h, spec.width = w, spec.channels = c, spec.filters = f;
  spec.kernel = kernel, spec.stride = stride, spec.padding = padding, spec.dilation = dilation;
  return spec;
}

// All variants, in all directions that they compute, give what the definition says.
void ExpectExact(const Conv2dSpec& spec) {
  SCOPED_TRACE(spec.ToString());
  const Tensor x = IntegerTensor(spec.dtype, spec.InputShape(), 1, 3);
  const Tensor w = IntegerTensor(spec.dtype, spec.FilterShape(), 2, 3);
  const Tensor dy = IntegerTensor(spec.dtype, spec.OutputShape(), 3, 3);
  const auto of = [&](const Tensor& tensor) { return Values(tensor, spec.format); };
  const auto y_expected = reference::Conv2dForward(spec, of(x), of(w));
  const auto dx_expected = reference::Conv2dBackwardData(spec, of(dy), of(w));
  const auto dw_expected = reference::Conv2dBackwardFilter(spec, of(x), of(dy));
  const auto dbias_expected = reference::Conv2dBackwardBias(spec, of(dy));
  std::vector<double> twice = dx_expected;
  for (double& value : twice) value *= 2;
  for (const std::string_view name : Conv2dVariantNames()) {
    if (name == "winograd") continue;  // no dilation, no stride, and not exact
    SCOPED_TRACE(name);
    Conv2dRunner runner(spec, WhereSupported(name, spec));
    const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
    runner.Forward(x, w, y);
    EXPECT_TRUE(Close(of(y), y_expected, 0));
    const Tensor dx = testing::OnesTensor(spec.dtype, spec.InputShape());
    runner.BackwardData(dy, w, dx);
    EXPECT_TRUE(Close(of(dx), dx_expected, 0));
    runner.BackwardData(dy, w, dx, /*accumulate=*/true);
    EXPECT_TRUE(Close(of(dx), twice, 0));
    const Tensor dw = ZeroTensor(spec.dtype, spec.FilterShape());
    const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
    runner.BackwardFilter(x, dy, dw, dbias);
    EXPECT_TRUE(Close(of(dw), dw_expected, 0));
    EXPECT_TRUE(Close(of(dbias), dbias_expected, 0));
  }
}

size_t WorkspaceOf(const Conv2dSpec& spec, std::string_view variant, Direction direction) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  return (*CreateConv2d(*context, spec, variant, {.directions = conv::Only(direction)}))
      ->workspace_bytes();
}

size_t BytesOfTensors(const Conv2dSpec& spec) {
  return (size_t(spec.InputShape().NumElements()) + size_t(spec.OutputShape().NumElements()) +
          size_t(spec.FilterShape().NumElements())) *
         SizeOf(spec.dtype);
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  int64_t Below(int64_t n) { return int64_t(random_() % uint64_t(n)); }
  template <size_t kCount>
  int64_t OneOf(const int64_t (&values)[kCount]) {
    return values[size_t(Below(kCount))];
  }
  // Up to 2^bits, small numbers as often as large ones.
  int64_t Log(int bits) {
    const int64_t power = int64_t{1} << Below(bits + 1);
    return power + Below(power);
  }

 private:
  std::mt19937_64 random_;
};

// Valid specs whose tensors have at most `most` elements, and of which the definition takes at most
// `products`.
Conv2dSpec RandomSpec(Generator& random, int64_t most, double products) {
  for (;;) {
    const auto axis = [&](int64_t& extent, int64_t& kernel, int64_t& stride, int64_t& padding,
                          int64_t& dilation) {
      extent = random.Below(2) == 0 ? 1 + random.Below(40) : random.Log(12);
      kernel = random.OneOf({1, 1, 2, 3, 3, 3, 4, 5, 7, 16});
      stride = random.Below(2) == 0 ? 1 + random.Below(5) : random.Log(29);
      dilation = random.Below(2) == 0 ? 1 + random.Below(4) : random.Log(18);
      const int64_t reach = dilation * (kernel - 1);
      padding = random.OneOf({0, reach / 2, reach, random.Below(6), random.Log(20)});
    };
    Conv2dSpec spec;
    axis(spec.height, spec.kernel.vertical, spec.stride.vertical, spec.padding.vertical,
         spec.dilation.vertical);
    axis(spec.width, spec.kernel.horizontal, spec.stride.horizontal, spec.padding.horizontal,
         spec.dilation.horizontal);
    spec.batch = random.OneOf({1, 1, 2, 5});
    spec.channels = random.OneOf({1, 2, 3, 4, 16, 17, 512});
    spec.filters = random.OneOf({1, 2, 5, 16, 33, 512});
    if (random.Below(4) == 0) spec.filters = spec.groups = spec.channels;
    if (random.Below(3) == 0) spec.format = TensorFormat::kNCHW;
    if (!spec.Validate().ok() || spec.Flops() > 2 * products) continue;
    if (std::max({spec.InputShape().NumElements(), spec.OutputShape().NumElements(),
                  spec.FilterShape().NumElements()}) > most) {
      continue;
    }
    return spec;
  }
}

TEST(Conv2dGeometryTest, RandomGeometriesAreExactOnIntegers) {
  Generator random(11);
  for (int i = 0; i < 150; ++i) ExpectExact(RandomSpec(random, 1 << 15, 1 << 18));
}

// Pixels of 2048 bytes and multiples, which are copied before they are read.
TEST(Conv2dGeometryTest, DilationOfConflictingPixelsIsExact) {
  ExpectExact(Spec(1, 7, 15, 512, 5, 3, 1, 4, 4));
  ExpectExact(Spec(1, 7, 20, 512, 17, 3, 2, 6, 3));
  ExpectExact(Spec(2, 5, 5, 1024, 3, 3, 1, 6, 6));  // all but one tap in the padding
  ExpectExact(Spec(1, 3, 130, 512, 5, Pair(2, 3), 1, Pair(0, 50), Pair(2, 50)));
  ExpectExact(Spec(1, 12, 12, 256, 4, 1, 2, 0, 1));
  ExpectExact(Spec(5, 15, 15, 512, 3, 3, Pair(9, 8), 2, 5));  // across images
}

// Rows of fewer pixels than a tile, of which not one fits the cache.
TEST(Conv2dGeometryTest, NarrowMapsOfManyChannels) {
  ExpectExact(Spec(1, 7, 7, 2048, 1, 3, 1, 1, 1));
}

TEST(Conv2dGeometryTest, WorkspaceIsOfTheOrderOfTheTensors) {
  Generator random(12);
  // Blocks of a fixed size, for two threads; beyond them a multiple of the tensors.
  constexpr size_t kBlocks = 40 << 20, kMultiple = 64;
  for (int i = 0; i < 400; ++i) {
    const Conv2dSpec spec = RandomSpec(random, 1 << 20, 1e9);
    for (const std::string_view name : Conv2dVariantNames()) {
      for (const Direction direction : conv::kDirections) {
        if (!Conv2dRefusal(name, spec, direction).empty()) continue;
        ASSERT_LE(WorkspaceOf(spec, name, direction), kBlocks + kMultiple * BytesOfTensors(spec))
            << spec.ToString() << " " << name << " " << conv::Name(direction);
      }
    }
  }
}

// The rows that taps read are copied, not those between them.
TEST(Conv2dGeometryTest, DilationTakesNoMemory) {
  const Conv2dSpec near = Spec(1, 33, 33, 2048, 256, 3, 1, 1, 1);
  for (const int64_t dilation : {2, 6, 12, 18, 36}) {
    Conv2dSpec far = near;
    far.padding = far.dilation = dilation;
    for (const Direction direction : conv::kDirections) {
      EXPECT_LE(WorkspaceOf(far, "gemm", direction), WorkspaceOf(near, "gemm", direction) * 3 / 2)
          << far.ToString();
    }
  }
}

// Phases without taps number stride^2; no table may have them.
TEST(Conv2dGeometryTest, GradientOfALargeStride) {
  for (const int64_t stride : {128, 4096, 1 << 20, 1 << 30}) {
    ExpectExact(Spec(1, 3, 5000, 1, 3, 1, stride, 0, 1));
    ExpectExact(Spec(1, 130, 131, 4, 4, 3, stride, 1, 1));
    Conv2dSpec depthwise = Spec(1, 130, 131, 4, 4, 2, stride, 1, 1);
    depthwise.groups = 4;
    ExpectExact(depthwise);
    ExpectExact(Spec(1, 3, 3, 2, 5, 1, stride, 1, 1));  // a tap in the padding is all there is
  }
  // Two of four phases have taps, at the places of the two of a stride of two.
  for (const int64_t groups : {1, 16}) {
    Conv2dSpec spec = Spec(1, 13, 14, 16, 16, 3, 4, 2, 2);
    spec.groups = groups;
    ExpectExact(spec);
    spec.padding = 1, spec.stride = 2;
    ExpectExact(spec);
  }
}

}  // namespace
}  // namespace dtnn
