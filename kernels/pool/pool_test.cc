#include "kernels/pool/pool.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pool/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::HasNaN;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};

PoolSpec Spec(Shape nhwc, Pair window, Pair stride, Pair padding = 0, Pair dilation = 1) {
  return {.batch = nhwc[0],
          .height = nhwc[1],
          .width = nhwc[2],
          .channels = nhwc[3],
          .window = window,
          .stride = stride,
          .padding = padding,
          .dilation = dilation};
}

std::vector<PoolSpec> Specs() {
  std::vector<PoolSpec> specs;
  // Two pixels in a vector: channels around half of one, and odd edges.
  for (const int64_t channels : {1, 2, 3, 4, 5, 8, 15, 16, 17, 33}) {
    specs.push_back(Spec({2, 6, 10, channels}, 2, 2));
    specs.push_back(Spec({1, 7, 5, channels}, 2, 2));
    specs.push_back(Spec({2, 5, 6, channels}, 3, 1, 1));
  }
  for (const int64_t width : {2, 3, 17, 28, 33, 70}) specs.push_back(Spec({1, 4, width, 1}, 2, 2));
  for (const int64_t channels : {1, 2, 4, 8, 9}) {
    specs.push_back(Spec({1, 7, 10, channels}, 2, {1, 3}));        // side by side, with gaps
    specs.push_back(Spec({1, 9, 11, channels}, 2, 2, 1, {3, 2}));  // dilated
    specs.push_back(Spec({1, 9, 12, channels}, 3, {2, 1}, {0, 1}, {1, 2}));
    specs.push_back(Spec({1, 6, 9, channels}, {2, 3}, {2, 3}));  // side by side, not square
  }
  for (const int64_t extent : {8, 14, 16}) specs.push_back(Spec({2, extent, extent, 3}, 2, 2));
  specs.push_back(Spec({1, 5, 50, 4}, 2, 2));
  for (const int64_t width : {5, 16, 17, 18, 33, 34, 35, 70}) {  // rows of vectors, both strides
    specs.push_back(Spec({1, 5, width, 2}, 3, 1, 1));
    specs.push_back(Spec({1, 5, width, 2}, 3, 2, 1));
    specs.push_back(Spec({1, 5, width, 2}, {2, 5}, 2, 0));
    specs.push_back(Spec({1, 5, width, 2}, {3, 5}, 2, {2, 1}));
  }
  for (const int64_t width : {6, 31, 35}) {  // planes: masks, with both strides
    specs.push_back(Spec({1, 4, width, 2}, 2, 2, 1));
    specs.push_back(Spec({1, 7, width, 2}, 3, 2, 1, {1, 2}));
    specs.push_back(Spec({1, 7, width, 2}, 3, {2, 1}, {1, 4}, {1, 2}));
    specs.push_back(Spec({1, 4, width, 2}, {1, 4}, {1, 3}, {0, 2}));
  }
  for (const int64_t height : {1, 3, 4, 9}) {  // 3x3 with stride 1
    for (const int64_t channels : {1, 3, 16, 17}) {
      specs.push_back(Spec({2, height, 5, channels}, 3, 1, 1));
      specs.push_back(Spec({2, height, 1, channels}, 3, 1, 2));
      if (height > 2) specs.push_back(Spec({2, height, 6, channels}, 3, 1, {0, 2}));
    }
  }
  for (const int64_t width : {6, 35}) {  // windows of three columns with stride 2
    specs.push_back(Spec({1, 6, width, 9}, 3, 2, 2));
    specs.push_back(Spec({1, 6, width, 2}, 3, {1, 2}, {1, 0}));
    specs.push_back(Spec({1, 9, width, 2}, 3, 2, {2, 1}, {2, 1}));
  }
  for (const int64_t extent : {1, 2, 7, 8, 15})
    specs.push_back(Spec({3, extent, extent, 40}, 3, 1, 1));
  specs.push_back(Spec({1, 20, 700, 1}, 2, 2));                 // large planes
  specs.push_back(Spec({1, 61, 70, 1}, 3, 1, 1));               //
  specs.push_back(Spec({1, 3, 800, 1}, 3, 1, 1));               //
  specs.push_back(Spec({2, 7, 8, 6}, 3, 2));                    // overlapping
  specs.push_back(Spec({2, 7, 8, 6}, 3, 2, 1));                 // overlapping, padded
  specs.push_back(Spec({2, 9, 8, 6}, 2, 3));                    // stride > window: gaps
  specs.push_back(Spec({2, 9, 8, 6}, {2, 3}, {3, 4}, {1, 2}));  // disjoint and padded
  specs.push_back(Spec({1, 9, 9, 3}, 2, 5, 1, 3));              // dilated, disjoint
  specs.push_back(Spec({1, 9, 9, 3}, 3, 1, 2, 2));              // dilated, overlapping
  specs.push_back(Spec({1, 6, 6, 70}, 3, 2, 1));                // blocks of channels
  specs.push_back(Spec({2, 7, 7, 5}, 7, 1));                    // global
  specs.push_back(Spec({1, 17, 16, 2}, {17, 16}, 1));           // int32 argmax
  specs.push_back(Spec({1, 17, 17, 2}, 17, 17));                // the same, disjoint
  specs.push_back(Spec({3, 1, 1, 4}, 1, 1));
  specs.push_back(Spec({2, 3, 4, 5}, 1, 2));
  for (const int64_t channels : {1, 8, 33}) {  // a last window that ends beyond the image
    for (const Pair& padding : {Pair(0), Pair(1)}) {
      specs.push_back(Spec({2, 6, 9, channels}, 3, 2, padding));
      specs.back().ceil = true;
    }
  }
  return specs;
}

class PoolTest : public ::testing::TestWithParam<DType> {
 protected:
  // Calls check for every spec, in both formats and for both kinds, means with and without padding.
  template <typename F>
  void ForEachSpec(F check) {
    for (PoolSpec spec : Specs()) {
      for (const TensorFormat format : kFormats) {
        for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
          spec.kind = kind;
          spec.format = format;
          spec.dtype = GetParam();
          for (const bool counted : {false, true}) {
            if (counted && (kind == PoolKind::kMax || spec.padding == Pair(0))) continue;
            spec.count_padding = counted;
            SCOPED_TRACE(spec.ToString());
            check(spec, *Create(spec));
          }
          spec.count_padding = false;
        }
      }
    }
  }
  std::unique_ptr<Pool> Create(const PoolSpec& spec) {
    auto pool = CreatePool(*context_, spec);
    EXPECT_TRUE(pool.ok()) << pool.status();
    return *std::move(pool);
  }
  // Maxima are exact; means of up to 289 integers are rounded a few times.
  double Tolerance(const PoolSpec& spec) const {
    if (spec.kind == PoolKind::kMax) return 0;
    return GetParam() == DType::kFloat32 ? 2e-6 : 1e-14;
  }

  // What a forward and a backward pass leave.
  struct Results {
    Doubles y, argmax, dx;
    bool operator==(const Results&) const = default;
    // Those of the first `images` of a batch.
    Results First(int64_t images, int64_t batch) const {
      const auto part = [&](const Doubles& all) {
        return Doubles(all.begin(), all.begin() + int64_t(all.size()) / batch * images);
      };
      return {part(y), part(argmax), part(dx)};
    }
  };
  // On the first `images` of a batch of random numbers.
  Results Run(Pool& pool, const PoolSpec& spec, int64_t images) {
    const auto first = [&](const Tensor& all) { return all.Samples(0, images, spec.format); };
    const Tensor x = first(RandomTensor(GetParam(), spec.InputShape(), 1));
    const Tensor dy = first(RandomTensor(GetParam(), spec.OutputShape(), 2));
    const Tensor y = ZeroTensor(GetParam(), dy.shape()), dx = ZeroTensor(GetParam(), x.shape());
    const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), dy.shape());
    EXPECT_TRUE(pool.Forward(x, y, argmax).ok());
    EXPECT_TRUE(pool.Backward(dy, argmax, dx, false).ok());
    return {Values(y), Values(argmax), Values(dx)};
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(PoolTest, ForwardEqualsReferenceDenseAndPitched) {
  ForEachSpec([&](const PoolSpec& spec, Pool& pool) {
    const Tensor x = IntegerTensor(GetParam(), spec.InputShape(), 1);
    Doubles expected(size_t(spec.OutputShape().NumElements()));
    std::vector<int64_t> number(expected.size());
    reference::PoolForward(spec, spec.batch, Values(x).data(), expected.data(), number.data());
    const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
    const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), spec.OutputShape());
    ASSERT_TRUE(pool.Forward(x, y, argmax).ok());
    EXPECT_TRUE(Close(Values(y), expected, Tolerance(spec)));
    if (spec.kind == PoolKind::kMax) {
      EXPECT_EQ(Values(argmax), Doubles(number.begin(), number.end()));
    }
    const Tensor pitched = Pitched(ZeroTensor(GetParam(), spec.OutputShape()), spec.format);
    ASSERT_TRUE(pool.Forward(Pitched(x, spec.format), pitched, Tensor()).ok());
    EXPECT_TRUE(Close(Values(pitched, spec.format), expected, Tolerance(spec)));
  });
}

TEST_P(PoolTest, BackwardEqualsReferenceDenseAndPitched) {
  ForEachSpec([&](const PoolSpec& spec, Pool& pool) {
    const Tensor x = IntegerTensor(GetParam(), spec.InputShape(), 1);
    const Tensor dy = IntegerTensor(GetParam(), spec.OutputShape(), 2);
    const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
    const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), spec.OutputShape());
    ASSERT_TRUE(pool.Forward(x, y, argmax).ok());
    const Doubles argmax_values = Values(argmax);
    const std::vector<int64_t> number(argmax_values.begin(), argmax_values.end());
    for (const bool accumulate : {false, true}) {
      const Tensor dx = IntegerTensor(GetParam(), spec.InputShape(), 3);
      const Tensor pitched = Pitched(dx, spec.format);
      Doubles expected = Values(dx);
      reference::PoolBackward(spec, spec.batch, Values(dy).data(), number.data(), expected.data(),
                              accumulate);
      ASSERT_TRUE(pool.Backward(dy, argmax, dx, accumulate).ok());
      EXPECT_TRUE(Close(Values(dx), expected, 4 * Tolerance(spec))) << accumulate;
      ASSERT_TRUE(pool.Backward(Pitched(dy, spec.format), argmax, pitched, accumulate).ok());
      EXPECT_TRUE(Close(Values(pitched, spec.format), expected, 4 * Tolerance(spec)));
    }
  });
}

TEST_P(PoolTest, NaNComesOutForwardAndBackward) {
  ForEachSpec([&](const PoolSpec& spec, Pool& pool) {
    const Tensor x = NaNTensor(GetParam(), spec.InputShape());
    Doubles expected(size_t(spec.OutputShape().NumElements()));
    reference::PoolForward(spec, spec.batch, Values(x).data(), expected.data(), nullptr);
    const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
    const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), spec.OutputShape());
    ASSERT_TRUE(pool.Forward(x, y, argmax).ok());
    if (HasNaN(expected)) {
      EXPECT_TRUE(KeepsNaN(Values(y), expected));
    }
    const Tensor dy = NaNTensor(GetParam(), spec.OutputShape()), dx = x;
    const Doubles argmax_values = Values(argmax);
    const std::vector<int64_t> number(argmax_values.begin(), argmax_values.end());
    Doubles gradient(size_t(spec.InputShape().NumElements()));
    reference::PoolBackward(spec, spec.batch, Values(dy).data(), number.data(), gradient.data(),
                            false);
    ASSERT_TRUE(pool.Backward(dy, argmax, dx, false).ok());
    EXPECT_TRUE(KeepsNaN(Values(dx), gradient));
  });
}

TEST_P(PoolTest, PaddingNeverWinsAndIsNotCounted) {
  for (const TensorFormat format : kFormats) {
    PoolSpec spec = Spec({1, 2, 2, 1}, 3, 1, 1);
    spec.format = format;
    spec.dtype = GetParam();
    const Tensor negative = TensorOf(GetParam(), spec.InputShape(), {-1, -2, -3, -4});
    const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
    ASSERT_TRUE(Create(spec)->Forward(negative, y, Tensor()).ok());
    EXPECT_EQ(Values(y), Doubles(4, -1));
    spec.kind = PoolKind::kAverage;
    const Tensor x = TensorOf(GetParam(), spec.InputShape(), {1, 2, 3, 4});
    ASSERT_TRUE(Create(spec)->Forward(x, y, Tensor()).ok());
    EXPECT_EQ(Values(y), Doubles(4, 2.5));
  }
}

TEST_P(PoolTest, FirstOfEqualElementsWinsAndNaNShows) {
  for (const TensorFormat format : kFormats) {
    for (const Pair stride : {Pair(2), Pair(1)}) {
      for (const int64_t channels : {1, 8}) {
        PoolSpec spec = Spec({1, 2, 2, channels}, 2, stride);
        spec.format = format;
        spec.dtype = GetParam();
        const Tensor x = ZeroTensor(GetParam(), spec.InputShape());
        const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
        const Tensor argmax =
            TensorOf(DType::kUint8, spec.OutputShape(), Doubles(size_t(channels), 9));
        ASSERT_TRUE(Create(spec)->Forward(x, y, argmax).ok());
        EXPECT_EQ(Values(argmax), Doubles(size_t(channels), 0));
        const Tensor nan =
            TensorOf(GetParam(), spec.InputShape(), Doubles(size_t(4 * channels), std::nan("")));
        ASSERT_TRUE(Create(spec)->Forward(nan, y, argmax).ok());
        for (const double value : Values(y)) EXPECT_TRUE(std::isnan(value));
      }
    }
  }
}

// An image of the smallest numbers has argmax inside the image, or gradients would go astray.
TEST_P(PoolTest, PaddingDoesNotWinAgainstMinusInfinity) {
  for (const TensorFormat format : kFormats) {
    for (const PoolSpec& shape :
         {Spec({1, 3, 1, 2}, 3, 1, 1), Spec({1, 3, 3, 9}, 3, 1, 1), Spec({1, 3, 20, 2}, 3, 1, 1),
          Spec({1, 3, 40, 2}, 3, 2, 1), Spec({1, 3, 4, 2}, 3, 2, 2)}) {
      PoolSpec spec = shape;
      spec.format = format;
      spec.dtype = GetParam();
      const Doubles lowest(size_t(spec.InputShape().NumElements()), -INFINITY);
      const Tensor x = TensorOf(GetParam(), spec.InputShape(), lowest);
      Doubles y_expected(size_t(spec.OutputShape().NumElements()));
      std::vector<int64_t> number(y_expected.size());
      reference::PoolForward(spec, 1, lowest.data(), y_expected.data(), number.data());
      const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
      const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), spec.OutputShape());
      ASSERT_TRUE(Create(spec)->Forward(x, y, argmax).ok());
      EXPECT_EQ(Values(y), y_expected);
      EXPECT_EQ(Values(argmax), Doubles(number.begin(), number.end()));
    }
  }
}

// One chain of float32 additions over a window would round by 6e-4.
TEST_P(PoolTest, MeansOfLargeWindowsAreSummedInParts) {
  for (const TensorFormat format : kFormats) {
    for (const PoolSpec& shape :
         {Spec({1, 256, 512, 2}, 256, 256), Spec({1, 4096, 5, 2}, Pair(4096, 3), 1),
          Spec({1, 3, 4098, 2}, Pair(3, 4096), 1)}) {
      PoolSpec spec = shape;
      spec.kind = PoolKind::kAverage;
      spec.format = format;
      spec.dtype = GetParam();
      const Doubles tenths(size_t(spec.InputShape().NumElements()), 0.1);
      const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
      ASSERT_EQ(Create(spec)->Forward(TensorOf(GetParam(), spec.InputShape(), tenths), y, Tensor()),
                absl::OkStatus());
      EXPECT_TRUE(Close(Values(y), Doubles(size_t(y.num_elements()), 0.1), 1e-6))
          << spec.ToString();
    }
  }
}

TEST_P(PoolTest, SmallerBatchesRunOnTheSamePrimitive) {
  for (const TensorFormat format : kFormats) {
    for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
      // Smaller batches are divided into more blocks of channels, each with fewer of them.
      PoolSpec spec = Spec({8, 6, 7, 40}, 3, 2, 1);
      spec.kind = kind;
      spec.format = format;
      spec.dtype = GetParam();
      SCOPED_TRACE(spec.ToString());
      const auto pool = Create(spec);
      const Results all = Run(*pool, spec, spec.batch);
      for (const int64_t images : {0, 1, 3}) {
        EXPECT_TRUE(Run(*pool, spec, images) == all.First(images, spec.batch)) << images;
      }
    }
  }
}

TEST_P(PoolTest, SameBitsOnAnyNumberOfThreads) {
  for (const TensorFormat format : kFormats) {
    for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
      for (const PoolSpec& shape : {Spec({16, 28, 28, 8}, 2, 2), Spec({16, 14, 15, 24}, 3, 2, 1),
                                    Spec({2, 30, 31, 72}, 3, 1, 1)}) {
        PoolSpec spec = shape;
        spec.kind = kind;
        spec.format = format;
        spec.dtype = GetParam();
        SCOPED_TRACE(spec.ToString());
        const auto pool = Create(spec);
        SetNumThreads(1);
        const Results alone = Run(*pool, spec, spec.batch);
        for (const int threads : {2, 4}) {
          SetNumThreads(threads);
          EXPECT_TRUE(Run(*pool, spec, spec.batch) == alone) << threads << " threads";
        }
      }
    }
  }
}

TEST_P(PoolTest, ErrorsNameTheOperand) {
  PoolSpec spec = Spec({2, 4, 4, 3}, 2, 2);
  spec.dtype = GetParam();
  const auto pool = Create(spec);
  const Tensor x = ZeroTensor(GetParam(), spec.InputShape());
  const Tensor y = ZeroTensor(GetParam(), spec.OutputShape());
  const Tensor argmax = ZeroTensor(DType::kUint8, spec.OutputShape());
  const Tensor many = ZeroTensor(GetParam(), spec.InputShape().DropFirst().Prepend(3));
  const auto starts = [](const absl::Status& status, std::string_view with) {
    return status.code() == absl::StatusCode::kInvalidArgument &&
           std::string(status.message()).starts_with(with);
  };
  EXPECT_EQ(pool->Forward(many, y, argmax).message(), "pool: x has 3 images, made for at most 2");
  EXPECT_TRUE(starts(pool->Forward(Tensor(), y, argmax), "pool: x is missing"));
  EXPECT_TRUE(starts(pool->Forward(x, x, argmax), "pool: y has shape (2, 4, 4, 3)"));
  EXPECT_TRUE(starts(pool->Forward(x, y, y), "pool: argmax has shape (2, 2, 2, 3) of float"));
  EXPECT_TRUE(starts(pool->Backward(y, Tensor(), x, false), "pool: argmax is missing"));
  EXPECT_TRUE(starts(pool->Backward(y, Pitched(argmax, spec.format), x, false),
                     "pool: argmax has shape (2, 2, 2, 3) of uint8 on cpu, pitched"));
  EXPECT_TRUE(starts(pool->Backward(x, argmax, x, false), "pool: dy has shape (2, 4, 4, 3)"));
}

INSTANTIATE_TEST_SUITE_P(, PoolTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(PoolReferenceTest, GradientIsTheCentralDifference) {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    PoolSpec spec = Spec({1, 5, 4, 2}, 3, 2, 1);
    spec.kind = kind;
    const size_t outputs = size_t(spec.OutputShape().NumElements());
    Doubles x = Values(RandomTensor(DType::kFloat64, spec.InputShape(), 1));
    const Doubles dy = Values(RandomTensor(DType::kFloat64, spec.OutputShape(), 2));
    Doubles y(outputs), dx(x.size());
    std::vector<int64_t> argmax(outputs);
    const auto objective = [&] {
      reference::PoolForward(spec, 1, x.data(), y.data(), argmax.data());
      double sum = 0;
      for (size_t i = 0; i < outputs; ++i) sum += y[i] * dy[i];
      return sum;
    };
    objective();
    reference::PoolBackward(spec, 1, dy.data(), argmax.data(), dx.data(), false);
    for (size_t i = 0; i < x.size(); ++i) {
      const double h = 1e-6, at = x[i];
      x[i] = at + h;
      const double up = objective();
      x[i] = at - h;
      const double down = objective();
      x[i] = at;
      EXPECT_NEAR(dx[i], (up - down) / (2 * h), 1e-8) << i;
    }
  }
}

TEST(PoolSpecTest, TokenAndShapes) {
  PoolSpec spec = Spec({64, 28, 28, 8}, 2, 2);
  EXPECT_EQ(spec.ToString(), "max_n64h28w28c8_r2s2p0x0u2x2_nhwc_f32");
  EXPECT_EQ(spec.OutputShape(), (Shape{64, 14, 14, 8}));
  EXPECT_EQ(spec.ArgmaxDType(), DType::kUint8);
  spec.window = 16;
  EXPECT_EQ(spec.ArgmaxDType(), DType::kInt32);
  spec.format = TensorFormat::kNCHW;
  spec.dilation = {1, 2};
  EXPECT_EQ(spec.ToString(), "max_n64h28w28c8_r16s16p0x0u2x2d1x2_nchw_f32");
}

TEST(PoolSpecTest, RoundedUpALastWindowBeginsInTheImage) {
  const auto outputs = [](int64_t extent, int64_t window, int64_t stride, int64_t padding) {
    PoolSpec spec = Spec({1, extent, extent, 1}, window, stride, padding);
    spec.ceil = true;
    return spec.out_height();
  };
  EXPECT_EQ(outputs(112, 3, 2, 0), 56);  // 110 and 111, of 110 to 112
  EXPECT_EQ(outputs(111, 3, 2, 0), 55);  // as without
  EXPECT_EQ(outputs(5, 2, 3, 0), 2);
  EXPECT_EQ(outputs(6, 2, 3, 1), 3);
  EXPECT_EQ(outputs(4, 1, 3, 1), 2);  // a third one would begin at 5, after the image
}

// Answers of torch.nn.functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True) of 1 to 4 in a row: its
// last window reaches beyond the padding, which it does not count there.
TEST(PoolAnswersTest, PaddingCountsAsInPyTorch) {
  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  PoolSpec spec = Spec({1, 1, 4, 1}, {1, 3}, {1, 2}, {0, 1});
  spec.kind = PoolKind::kAverage;
  spec.dtype = DType::kFloat64;
  spec.ceil = true;
  for (const auto& [counted, expected] :
       {std::pair(false, Doubles{1.5, 3, 4}), std::pair(true, Doubles{1, 3, 2})}) {
    spec.count_padding = counted;
    const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
    const auto pool = *CreatePool(*context, spec);
    ASSERT_EQ(pool->Forward(testing::TensorOf(spec.dtype, spec.InputShape(), {1, 2, 3, 4}), y, {}),
              absl::OkStatus());
    EXPECT_EQ(Values(y), expected);
  }
}

TEST(PoolSpecTest, ErrorsNameTheField) {
  const auto error = [](const PoolSpec& spec) { return std::string(spec.Validate().message()); };
  EXPECT_EQ(error(Spec({1, 4, 4, 1}, 2, 2)), "");
  EXPECT_EQ(error(Spec({1, 4, 4, 0}, 2, 2)), "pool: channels is 0, expected 1 to 16777216");
  EXPECT_EQ(error(Spec({1, 4, 4, 16777216}, 2, 2)), "");
  EXPECT_EQ(error(Spec({1, 4, 4, 16777217}, 2, 2)),
            "pool: channels is 16777217, expected 1 to 16777216");
  EXPECT_EQ(error(Spec({1, 4, 4, 1}, 2, 0)), "pool: stride is 0, expected 1 to 16777216");
  EXPECT_EQ(error(Spec({1, 4, 4, 1}, 2, 1, 2)), "pool: padding is 2, expected 0 to 1");
  EXPECT_EQ(error(Spec({1, 4, 3, 1}, 4, 1)),
            "pool: the window reaches over 4 elements, but the width with padding is only 3; "
            "expected an output of at least 1");
  EXPECT_EQ(error(Spec({1, 1, 9, 1}, 2, 1, 3, 4)),
            "pool: with padding 3 and dilation 4 a window lies in the padding alone; expected each "
            "to hold an element of the image");
  const int64_t side = 1 << 16;  // windows that mostly lie in the padding
  EXPECT_EQ(error(Spec({1, side, side, 1}, 4096, 1, 4095 * side, side)),
            "pool: output is 268435456, expected 1 to 16777216");
  PoolSpec counted = Spec({1, 4, 4, 1}, 2, 1, 1);
  counted.count_padding = true;
  EXPECT_EQ(error(counted), "pool: a maximum does not count padding; that is for means");
  PoolSpec huge = Spec({1 << 24, 1 << 24, 1 << 24, 1 << 24}, 2, 2);
  EXPECT_NE(error(huge), "");
}

}  // namespace
}  // namespace dtnn
