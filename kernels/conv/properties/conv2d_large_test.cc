// Sizes at which variants divide their work in other ways.

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::ComputesAll;
using testing::Conv2dRunner;
using testing::IntegerTensor;
using testing::Values;
using testing::WhereSupported;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

Doubles Plus(Doubles a, const Doubles& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// Every direction, accumulated, with everything in the epilogue.
void ExpectExact(Conv2dSpec spec, std::string_view variant) {
  spec.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
  SCOPED_TRACE(spec.ToString());
  Conv2dRunner runner(spec, variant);
  const auto integers = [&](const Shape& shape, uint64_t seed) {
    return IntegerTensor(spec.dtype, shape, seed, 3);
  };
  const Tensor x = integers(spec.InputShape(), 1), w = integers(spec.FilterShape(), 2);
  const Tensor dy = integers(spec.OutputShape(), 3), dx = integers(spec.InputShape(), 4);
  const Tensor dw = integers(spec.FilterShape(), 5), dbias = integers({spec.filters}, 6);
  EpilogueOperands operands;
  operands.bias = integers({spec.filters}, 7);
  operands.scale = integers({spec.filters}, 8);
  operands.addend = integers(spec.OutputShape(), 9);
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  runner.Forward(x, w, y, operands);
  const Doubles sums = reference::Conv2dForward(spec, Values(x), Values(w));
  EXPECT_TRUE(Close(Values(y),
                    reference::ApplyEpilogue(spec, sums, Values(operands.bias),
                                             Values(operands.scale), Values(operands.addend)),
                    0));
  const Doubles dx_expected =
      Plus(Values(dx), reference::Conv2dBackwardData(spec, Values(dy), Values(w)));
  runner.BackwardData(dy, w, dx, true);
  EXPECT_TRUE(Close(Values(dx), dx_expected, 0));
  const Doubles gradient = reference::Conv2dBackwardFilter(spec, Values(x), Values(dy));
  const Doubles dw_expected = Plus(Values(dw), gradient);
  const Doubles dbias_expected =
      Plus(Values(dbias), reference::Conv2dBackwardBias(spec, Values(dy)));
  runner.BackwardFilter(x, dy, dw, dbias, true);
  EXPECT_TRUE(Close(Values(dw), dw_expected, 0));
  EXPECT_TRUE(Close(Values(dbias), dbias_expected, 0));
}

// Five NCHW images, of which two at a time are brought into NHWC order; of groups, three.
TEST(Conv2dLargeTest, NchwImagesOfSeveralChunks) {
  Conv2dSpec spec;
  spec.batch = 5, spec.height = 128, spec.width = 128, spec.channels = 8, spec.filters = 17;
  spec.kernel = Pair(1, 3), spec.padding = Pair(0, 1);
  spec.format = TensorFormat::kNCHW;
  ExpectExact(spec, "gemm");
  spec.filters = 34, spec.groups = 2;
  ExpectExact(spec, "gemm");
}

// The same for every variant, in every direction and type: three images of which each is a chunk.
// Against gemm, which is exact on integers, and gemm against i2c: the reference would take seconds.
TEST(Conv2dLargeTest, NchwImagesInChunksOfEveryVariant) {
  for (const std::string_view variant : Conv2dVariantNames()) {
    // They compute bfloat16 alone: conv2d_bfloat16_test.cc.
    if (variant == "amx" || variant == "dot") continue;
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      Conv2dSpec common;
      common.batch = 3, common.height = 151, common.width = 150;
      common.channels = 5, common.filters = 31;
      common.kernel = 3, common.padding = 1;
      common.format = TensorFormat::kNCHW, common.dtype = dtype;
      Conv2dSpec few_filters = common, depthwise = common;
      few_filters.filters = 6, few_filters.height = 301;
      depthwise.channels = depthwise.filters = depthwise.groups = 31;
      const Conv2dSpec specs[] = {common, few_filters, depthwise};
      const Conv2dSpec* const computed = std::ranges::find_if(
          specs, [&](const Conv2dSpec& each) { return ComputesAll(variant, each); });
      ASSERT_NE(computed, std::end(specs)) << "a spec of such a size is missing for " << variant;
      const Conv2dSpec& spec = *computed;
      SCOPED_TRACE(absl::StrCat(std::string(variant), " ", spec.ToString()));
      const auto tolerance = [&](conv::Direction direction) {
        const double error = Conv2dError(variant, spec, direction);
        if (error <= 1) return 0.0;  // integers: exact unless they are transformed
        return dtype == DType::kFloat32 ? 2e-2 : 1e-10;
      };
      const auto integers = [&](const Shape& shape, uint64_t seed) {
        return IntegerTensor(dtype, shape, seed, 3);
      };
      const auto of = [&](const Tensor& tensor) { return Values(tensor, spec.format); };
      const Tensor x = integers(spec.InputShape(), 1), w = integers(spec.FilterShape(), 2);
      const Tensor dy = integers(spec.OutputShape(), 3);
      const Tensor y = ZeroTensor(dtype, spec.OutputShape());
      const Tensor dx = integers(spec.InputShape(), 4), dw = integers(spec.FilterShape(), 5);
      const Tensor dbias = ZeroTensor(dtype, {spec.filters});
      const Tensor gradient = ZeroTensor(dtype, spec.FilterShape());
      const Tensor back = ZeroTensor(dtype, spec.InputShape());
      Conv2dRunner exact(spec, variant == "gemm" ? "i2c" : "gemm");
      exact.Forward(x, w, y);
      const Doubles y_expected = of(y);
      exact.BackwardData(dy, w, back);
      const Doubles dx_expected = Plus(of(dx), of(back));
      exact.BackwardFilter(x, dy, gradient, dbias);
      const Doubles dw_expected = Plus(of(dw), of(gradient));
      Conv2dRunner runner(spec, variant);
      runner.Forward(x, w, y);
      EXPECT_TRUE(Close(of(y), y_expected, tolerance(conv::Direction::kForward)));
      runner.BackwardData(dy, w, dx, true);
      EXPECT_TRUE(Close(of(dx), dx_expected, tolerance(conv::Direction::kBackwardData)));
      runner.BackwardFilter(x, dy, dw, dbias, true);
      EXPECT_TRUE(Close(of(dw), dw_expected, tolerance(conv::Direction::kBackwardFilter)));
    }
  }
}

// NCHW images come in chunks, of which the last is smaller, and a partial sum of the filter's
// gradient has several blocks of pixels.
TEST(Conv2dLargeTest, ChunksOfImagesAndBlocksOfPixelsAddUp) {
  for (const std::string_view variant : Conv2dVariantNames()) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      Conv2dSpec spec;
      spec.batch = 3, spec.height = 113, spec.width = 112, spec.channels = 3, spec.filters = 33;
      spec.kernel = Pair(1, 2), spec.format = format;
      spec.epilogue = {.bias = true, .add = true, .relu = true};
      SCOPED_TRACE(spec.ToString());
      const auto integers = [&](const Shape& shape, uint64_t seed) {
        return IntegerTensor(spec.dtype, shape, seed, 3);
      };
      const auto of = [&](const Tensor& tensor) { return Values(tensor, format); };
      const Tensor x = integers(spec.InputShape(), 1), w = integers(spec.FilterShape(), 2);
      const Tensor dy = integers(spec.OutputShape(), 3), bias = integers({spec.filters}, 4);
      const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
      const Tensor dx = ZeroTensor(spec.dtype, spec.InputShape());
      const Tensor dw = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      Conv2dRunner runner(spec, WhereSupported(variant, spec));
      runner.Forward(x, w, y, {.bias = bias, .addend = dy});
      const std::vector<double> sums = reference::Conv2dForward(spec, of(x), of(w));
      EXPECT_TRUE(Close(of(y), reference::ApplyEpilogue(spec, sums, of(bias), {}, of(dy)), 0));
      runner.BackwardData(dy, w, dx);
      EXPECT_TRUE(Close(of(dx), reference::Conv2dBackwardData(spec, of(dy), of(w)), 0));
      runner.BackwardFilter(x, dy, dw, dbias);
      EXPECT_TRUE(Close(of(dw), reference::Conv2dBackwardFilter(spec, of(x), of(dy)), 0));
      EXPECT_TRUE(Close(of(dbias), reference::Conv2dBackwardBias(spec, of(dy)), 0));
    }
  }
}

TEST(Conv2dLargeTest, DepthwiseTilesOfRowsAndColumns) {
  struct Sizes {
    int64_t batch, height, width, channels;
    Pair kernel, stride, padding, dilation;
  };
  for (const Sizes& s :
       std::initializer_list<Sizes>{{3, 40, 41, 50, 3, 1, 1, 1},   // tiles of rows
                                    {2, 6, 300, 17, 3, 1, 1, 1},   // of columns
                                    {1, 35, 270, 20, 5, 2, 2, 1},  // of both, with phases
                                    {1, 41, 130, 32, 3, 1, 2, 2},
                                    {1, 150, 13, 32, 3, 2, 3, 3}}) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      Conv2dSpec spec;
      spec.batch = s.batch, spec.height = s.height, spec.width = s.width;
      spec.channels = spec.filters = spec.groups = s.channels;
      spec.kernel = s.kernel, spec.stride = s.stride, spec.padding = s.padding;
      spec.dilation = s.dilation;
      spec.format = format;
      ExpectExact(spec, "depthwise");
    }
  }
}

// Whose gradient has several parts, each of several strips of pixels of several images.
TEST(Conv2dLargeTest, SinglePixelsInStrips) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    Conv2dSpec spec;
    spec.batch = 8, spec.height = 14, spec.width = 13, spec.channels = 259, spec.filters = 66;
    spec.kernel = 1, spec.format = format;
    ExpectExact(spec, "gemm");
  }
}

// A filter that is too large for partial sums has one sum: the gradient itself (NHWC, whole
// vectors of filters), or is copied there. More pixels than a block has, and an odd number.
TEST(Conv2dLargeTest, GradientsOfLargeFilters) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const int64_t filters : {528, 529}) {
      Conv2dSpec spec;
      spec.batch = 2, spec.height = 9, spec.width = 8, spec.channels = 1024;
      spec.filters = filters;
      spec.kernel = 1;
      spec.format = format;
      SCOPED_TRACE(spec.ToString());
      Conv2dRunner runner(spec, "gemm");
      const Tensor x = IntegerTensor(spec.dtype, spec.InputShape(), 1, 3);
      const Tensor dy = IntegerTensor(spec.dtype, spec.OutputShape(), 2, 3);
      const Tensor dw = IntegerTensor(spec.dtype, spec.FilterShape(), 3, 3);
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      const Doubles gradient = reference::Conv2dBackwardFilter(spec, Values(x), Values(dy));
      const Doubles accumulated = Plus(Values(dw), gradient);
      runner.BackwardFilter(x, dy, dw, dbias, true);
      EXPECT_TRUE(Close(Values(dw), accumulated, 0));
      EXPECT_TRUE(Close(Values(dbias), reference::Conv2dBackwardBias(spec, Values(dy)), 0));
      runner.BackwardFilter(x, dy, dw, Tensor(), false);
      EXPECT_TRUE(Close(Values(dw), gradient, 0));
    }
  }
}

// Pixels that are copied side by side; with padding, some of them do not exist.
TEST(Conv2dLargeTest, SingleTapsOfManyChannels) {
  for (const int64_t channels : {256, 259}) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      Conv2dSpec spec;
      spec.batch = 3, spec.height = 10, spec.width = 9;
      spec.channels = channels, spec.filters = 70;
      spec.kernel = 1, spec.stride = Pair(3, 2), spec.padding = Pair(1, 2);
      spec.format = format;
      ExpectExact(spec, "gemm");
    }
  }
}

// Tiles that are transformed a slice at a time; more than one slice, parts of panels, and several
// runs of channels. Against gemm, which is exact on integers: the reference would take minutes.
TEST(Conv2dLargeTest, WinogradOfManyChannelsAndFilters) {
  for (const int64_t kernel : {3, 5}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
        Conv2dSpec spec;
        spec.batch = dtype == DType::kFloat32 ? 37 : 19;  // of four tiles each
        spec.height = spec.width = 7, spec.channels = 266, spec.filters = 275;
        spec.kernel = kernel, spec.padding = kernel / 2;
        spec.format = format, spec.dtype = dtype;
        SCOPED_TRACE(spec.ToString());
        Conv2dRunner runner(spec, "winograd"), gemm(spec, "gemm");
        const Tensor x = IntegerTensor(dtype, spec.InputShape(), 1, 3);
        const Tensor dy = IntegerTensor(dtype, spec.OutputShape(), 2, 3);
        const Tensor w = IntegerTensor(dtype, spec.FilterShape(), 5, 3);
        const Tensor dw = IntegerTensor(dtype, spec.FilterShape(), 3, 3);
        const Tensor dbias = IntegerTensor(dtype, {spec.filters}, 4, 3);
        const Tensor exact = ZeroTensor(dtype, spec.FilterShape());
        const Tensor exact_bias = ZeroTensor(dtype, {spec.filters});
        gemm.BackwardFilter(x, dy, exact, exact_bias, false);
        const Doubles gradient = Values(exact), accumulated = Plus(Values(dw), gradient);
        const Doubles bias = Plus(Values(dbias), Values(exact_bias));
        // For sums of 1800 terms, or 2500.
        const double tolerance = dtype == DType::kFloat32 ? 2e-2 * double(kernel - 2) : 1e-10;
        runner.BackwardFilter(x, dy, dw, dbias, true);
        EXPECT_TRUE(Close(Values(dw), accumulated, tolerance));
        EXPECT_TRUE(Close(Values(dbias), bias, 0));
        runner.BackwardFilter(x, dy, dw, Tensor(), false);
        EXPECT_TRUE(Close(Values(dw), gradient, tolerance));

        if (kernel != 3) continue;  // the other directions do the same with both
        const Tensor y = ZeroTensor(dtype, spec.OutputShape());
        const Tensor exact_y = ZeroTensor(dtype, spec.OutputShape());
        gemm.Forward(x, w, exact_y);
        runner.Forward(x, w, y);
        EXPECT_TRUE(Close(Values(y), Values(exact_y), tolerance));
        const Tensor dx = IntegerTensor(dtype, spec.InputShape(), 6, 3);
        const Tensor exact_dx = ZeroTensor(dtype, spec.InputShape());
        gemm.BackwardData(dy, w, exact_dx, false);
        const Doubles dx_expected = Plus(Values(dx), Values(exact_dx));
        runner.BackwardData(dy, w, dx, true);
        EXPECT_TRUE(Close(Values(dx), dx_expected, tolerance));
      }
    }
  }
}

// Filters so large that they are transformed as they are, not by way of a float32 copy.
TEST(Conv2dLargeTest, WinogradOfLargeFiltersOfBfloat16) {
  constexpr DType kHalf = DType::kBfloat16;
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const TensorFormat filter_format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      for (const int64_t groups : {1, 2}) {
        Conv2dSpec spec;
        spec.batch = 5, spec.height = spec.width = 7;
        spec.channels = 266 * groups, spec.filters = 275 * groups, spec.groups = groups;
        spec.kernel = 3, spec.padding = 1;
        spec.format = format, spec.filter_format = filter_format, spec.dtype = kHalf;
        SCOPED_TRACE(spec.ToString());
        Conv2dRunner runner(spec, "winograd"), gemm(spec, "gemm");
        const Tensor w = IntegerTensor(kHalf, spec.FilterShape(), 1, 3);
        for (const int64_t images : {5, 2}) {
          Conv2dSpec batch = spec;
          batch.batch = images;
          const Tensor x = IntegerTensor(kHalf, batch.InputShape(), 2, 3);
          const Tensor dy = IntegerTensor(kHalf, batch.OutputShape(), 3, 3);
          const Tensor y = ZeroTensor(kHalf, batch.OutputShape());
          const Tensor exact_y = ZeroTensor(kHalf, batch.OutputShape());
          const Tensor dx = ZeroTensor(kHalf, batch.InputShape());
          const Tensor exact_dx = ZeroTensor(kHalf, batch.InputShape());
          gemm.Forward(x, w, exact_y);
          runner.Forward(x, w, y);
          // Sums as exact as in float32, rounded once: to the neighbour at most.
          EXPECT_TRUE(Close(Values(y), Values(exact_y), 4e-2, 0x1p-7));
          gemm.BackwardData(dy, w, exact_dx, false);
          runner.BackwardData(dy, w, dx, false);
          EXPECT_TRUE(Close(Values(dx), Values(exact_dx), 4e-2, 0x1p-7));
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
