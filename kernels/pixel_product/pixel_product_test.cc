#include "kernels/pixel_product/pixel_product.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pixel_product/testing/call.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Call;
using testing::Close;
using testing::Doubles;
using testing::KeepsNaN;
using testing::kSpecs;
using testing::NaNTensor;
using testing::Pitched;
using testing::Spec;
using testing::SumTolerance;
using testing::TensorOf;
using testing::Values;

class PixelProductTest
    : public ::testing::TestWithParam<std::tuple<PixelProductSpec, TensorFormat, DType>> {
 protected:
  PixelProductTest() : spec_(std::get<0>(GetParam())) {
    spec_.format = std::get<1>(GetParam());
    spec_.dtype = std::get<2>(GetParam());
    const int64_t pixels = std::max(spec_.x.height * spec_.x.width, spec_.y.height * spec_.y.width);
    terms_ = std::max(pixels, spec_.x.channels) + 1;
  }
  double Tolerance(bool integers) const {
    return integers ? 0 : 2 * SumTolerance(spec_.dtype, terms_);
  }

  const std::unique_ptr<DeviceContext> cpu_ = *DeviceContext::Create(Device::Cpu());
  PixelProductSpec spec_;
  int64_t terms_;  // of the longest sum
};

TEST_P(PixelProductTest, EqualsItsReferenceDenseAndPitched) {
  for (const bool integers : {true, false}) {
    for (const bool accumulate : {false, true}) {
      for (const bool pitched : {false, true}) {
        Call call(*cpu_, spec_, integers);
        if (pitched) {
          call.ForAll([&](const Tensor& dense) { return Pitched(dense, spec_.format); });
        }
        const std::vector<Doubles> expected = call.Expected(accumulate);
        call.Run(accumulate);
        const std::vector<Doubles> results = call.Results();
        for (size_t i = 0; i < 3; ++i) {
          EXPECT_TRUE(Close(results[i], expected[i], Tolerance(integers), Tolerance(integers)))
              << "result " << i << (accumulate ? ", added" : "") << (pitched ? ", pitched" : "");
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, PixelProductTest,
                         ::testing::Combine(::testing::ValuesIn(kSpecs),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

class PixelProductFormatTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  const std::unique_ptr<DeviceContext> cpu_ = *DeviceContext::Create(Device::Cpu());
};
INSTANTIATE_TEST_SUITE_P(, PixelProductFormatTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Large enough that matrices are divided among threads.
TEST_P(PixelProductFormatTest, SameBitsOnAnyNumberOfThreads) {
  std::vector<Doubles> first;
  for (const int threads : {1, 2, 4, 7}) {
    SetNumThreads(threads);
    PixelProductSpec spec = Spec({20, 13, 64}, {15, 15, 64}, 2, 0.125);
    spec.format = GetParam();
    Call call(*cpu_, spec, /*integers=*/false);
    call.Run(/*accumulate=*/true);
    if (first.empty()) first = call.Results();
    EXPECT_EQ(call.Results(), first) << threads << " threads";
  }
  SetNumThreads(2);
}

TEST_P(PixelProductFormatTest, Bfloat16IsRoundedOnce) {
  for (const bool accumulate : {false, true}) {
    PixelProductSpec spec = Spec({3, 7, 20}, {5, 5, 20}, 2, 0.3);
    spec.format = GetParam();
    Call wide(*cpu_, spec, /*integers=*/false);
    spec.dtype = DType::kBfloat16;
    Call half(*cpu_, spec, /*integers=*/false);
    const auto same = [](const Tensor& from) {
      return TensorOf(DType::kFloat32, from.shape(), Values(from));
    };
    wide.x = same(half.x), wide.y = same(half.y), wide.s = same(half.s);
    wide.x_to = same(half.x_to), wide.y_to = same(half.y_to), wide.s_to = same(half.s_to);
    wide.Run(accumulate);
    half.Run(accumulate);
    std::vector<Doubles> expected = wide.Results();
    for (Doubles& result : expected) {
      for (double& value : result) value = double(Bfloat16(float(value)));
    }
    EXPECT_EQ(half.Results(), expected);
  }
}

TEST_P(PixelProductFormatTest, NaNInAnyOperandComesOut) {
  PixelProductSpec spec = Spec({2, 2, 4}, {3, 1, 4}, 2, 0.5);
  spec.format = GetParam();
  const auto nan = [](const Tensor& tensor) { return NaNTensor(tensor.dtype(), tensor.shape()); };
  for (int operand = 0; operand < 3; ++operand) {
    Call call(*cpu_, spec, /*integers=*/false);
    Tensor& changed = operand == 0 ? call.x : operand == 1 ? call.y : call.s;
    changed = nan(changed);
    const std::vector<Doubles> expected = call.Expected(false);
    call.Run(/*accumulate=*/false);
    const std::vector<Doubles> results = call.Results();
    for (size_t i = 0; i < 3; ++i) {
      if (!testing::HasNaN(expected[i])) continue;
      EXPECT_TRUE(KeepsNaN(results[i], expected[i])) << i;
    }
  }
}

TEST_P(PixelProductFormatTest, TakesABatchWithoutSamples) {
  PixelProductSpec spec = Spec({2, 2, 4}, {3, 1, 4}, 2);
  spec.format = GetParam();
  Call call(*cpu_, spec, /*integers=*/true);
  call.ForAll([&](const Tensor& full) { return full.Samples(0, 0, spec.format); });
  call.Run(/*accumulate=*/false);
}

// A thread holds 256 rows of 16 bits in a wide type, not all of S.
TEST(PixelProductWorkspaceTest, HoldsPartsOfRows) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto bytes = [&](DType dtype, double factor) {
    PixelProductSpec spec = Spec({32, 32, 8}, {16, 32, 8}, 1, factor);
    spec.dtype = dtype;
    return (*CreatePixelProduct(*cpu, spec))->workspace_bytes();
  };
  const auto threads = size_t(NumThreads());
  const size_t gemm = bytes(DType::kFloat32, 1), x = 32 * 32 * 8 * 4;
  EXPECT_EQ(bytes(DType::kFloat32, 0.5), gemm + threads * x);
  EXPECT_EQ(bytes(DType::kBfloat16, 1),  // Gather, of 256 rows of the transposed S
            gemm + threads * 4 * (256 * 1024 + 1024 * 8 + 256 * 8));
}

TEST(PixelProductSpecTest, SaysWhatDoesNotFit) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto error = [&](const PixelProductSpec& spec) {
    return std::string(CreatePixelProduct(*cpu, spec).status().message());
  };
  EXPECT_EQ(error(Spec({2, 2, 4}, {3, 1, 5}, 1)),
            "pixel product: images of 2x2x4 and 3x1x5, expected the same channels, which 1 heads "
            "divide evenly");
  EXPECT_EQ(error(Spec({2, 2, 4}, {3, 1, 4}, 3)),
            "pixel product: images of 2x2x4 and 3x1x4, expected the same channels, which 3 heads "
            "divide evenly");
  EXPECT_NE(error(Spec({2, 2, 4}, {3, 1, 4}, 0)), "");
  EXPECT_NE(error(Spec({2, 0, 4}, {3, 1, 4}, 1)), "");
  EXPECT_EQ(error(Spec({2, 2, 4}, {3, 1, 4}, 1, std::numeric_limits<double>::infinity())),
            "pixel product: factor inf, expected a finite number");
  Call call(*cpu, Spec({2, 2, 4}, {3, 1, 4}, 2, 0.5), /*integers=*/true);
  EXPECT_EQ(std::string(call.product->Scores(call.x, call.y, call.x, false, {}).message()),
            "pixel product: s has shape (2, 2, 2, 4) of float32 on cpu; expected (2, 2, 2, 6) of "
            "float32 on cpu");
  EXPECT_EQ(call.product->Scores(call.x, call.y, call.s, false, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
