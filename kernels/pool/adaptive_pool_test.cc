#include "kernels/pool/adaptive_pool.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pool/adaptive_reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

AdaptivePoolSpec Spec(Shape nhwc, int64_t out_height, int64_t out_width) {
  return {.batch = nhwc[0],
          .height = nhwc[1],
          .width = nhwc[2],
          .channels = nhwc[3],
          .out_height = out_height,
          .out_width = out_width};
}

const AdaptivePoolSpec kSpecs[] = {
    Spec({1, 1, 1, 1}, 1, 1),    Spec({2, 8, 8, 17}, 1, 1),
    Spec({2, 7, 6, 16}, 7, 6),   Spec({2, 7, 5, 3}, 3, 2),
    Spec({2, 10, 11, 33}, 4, 7),                            // in % out != 0
    Spec({2, 3, 2, 5}, 7, 5),    Spec({1, 1, 4, 8}, 3, 9),  // out > in
    Spec({2, 12, 40, 1}, 6, 3),  Spec({3, 17, 19, 2}, 1, 4),
    Spec({3, 17, 19, 2}, 5, 1),  Spec({1, 6, 37, 15}, 2, 36),
    Spec({1, 17, 17, 2}, 1, 1),  Spec({1, 40, 40, 1}, 2, 1),  // windows of more than 256 elements
};

class AdaptivePoolTest
    : public ::testing::TestWithParam<std::tuple<AdaptivePoolSpec, TensorFormat, DType>> {
 protected:
  AdaptivePoolTest() {
    spec_ = std::get<0>(GetParam());
    spec_.format = std::get<1>(GetParam());
    spec_.dtype = std::get<2>(GetParam());
    auto pool = CreateAdaptivePool(*context_, spec_);
    EXPECT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }
  Tensor Integers(const Shape& shape, uint64_t seed) const {
    return IntegerTensor(spec_.dtype, shape, seed);
  }
  Tensor Zeros(const Shape& shape) const { return ZeroTensor(spec_.dtype, shape); }
  // The sums of integers are exact; a mean, and the sum of a few of them, are rounded.
  double Tolerance() const {
    return 32 * (spec_.dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                                : std::numeric_limits<double>::epsilon());
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
  AdaptivePoolSpec spec_;
  std::unique_ptr<AdaptivePool> pool_;
};

TEST_P(AdaptivePoolTest, ForwardEqualsReferenceDenseAndPitched) {
  const Tensor x = Integers(spec_.InputShape(), 1);
  const Doubles expected = reference::AdaptivePoolForward(spec_, Values(x));
  const Tensor y = Zeros(spec_.OutputShape());
  ASSERT_TRUE(pool_->Forward(x, y).ok());
  EXPECT_TRUE(Close(Values(y), expected, Tolerance()));
  const Tensor pitched = Pitched(Zeros(spec_.OutputShape()), spec_.format);
  ASSERT_TRUE(pool_->Forward(Pitched(x, spec_.format), pitched).ok());
  EXPECT_TRUE(Close(Values(pitched, spec_.format), expected, Tolerance()));
}

TEST_P(AdaptivePoolTest, NaNComesOutForwardAndBackward) {
  const Tensor x = NaNTensor(spec_.dtype, spec_.InputShape()), y = Zeros(spec_.OutputShape());
  ASSERT_TRUE(pool_->Forward(x, y).ok());
  EXPECT_TRUE(KeepsNaN(Values(y), reference::AdaptivePoolForward(spec_, Values(x))));
  const Tensor dy = NaNTensor(spec_.dtype, spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  ASSERT_TRUE(pool_->Backward(dy, dx, false).ok());
  EXPECT_TRUE(KeepsNaN(Values(dx), reference::AdaptivePoolBackward(spec_, Values(dy))));
}

TEST_P(AdaptivePoolTest, BackwardEqualsReferenceDenseAndPitched) {
  const Tensor dy = Integers(spec_.OutputShape(), 2);
  const Doubles gradient = reference::AdaptivePoolBackward(spec_, Values(dy));
  for (const bool accumulate : {false, true}) {
    const Tensor dx = Integers(spec_.InputShape(), 3);
    const Tensor pitched = Pitched(dx, spec_.format);
    Doubles expected = gradient;
    const Doubles before = Values(dx);
    for (size_t i = 0; i < before.size() && accumulate; ++i) expected[i] += before[i];
    ASSERT_TRUE(pool_->Backward(dy, dx, accumulate).ok());
    EXPECT_TRUE(Close(Values(dx), expected, Tolerance(), Tolerance()));
    ASSERT_TRUE(pool_->Backward(Pitched(dy, spec_.format), pitched, accumulate).ok());
    EXPECT_TRUE(Close(Values(pitched, spec_.format), expected, Tolerance(), Tolerance()));
  }
}

// <pool(x), dy> = <x, pool'(dy)>.
TEST_P(AdaptivePoolTest, GradientIsAdjoint) {
  const Tensor x = RandomTensor(spec_.dtype, spec_.InputShape(), 4);
  const Tensor dy = RandomTensor(spec_.dtype, spec_.OutputShape(), 5);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  ASSERT_TRUE(pool_->Forward(x, y).ok());
  ASSERT_TRUE(pool_->Backward(dy, dx, false).ok());
  const auto dot = [](const Tensor& a, const Tensor& b) {
    const Doubles u = Values(a), v = Values(b);
    return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
  };
  EXPECT_NEAR(dot(y, dy), dot(x, dx), Tolerance() * double(y.num_elements()));
}

INSTANTIATE_TEST_SUITE_P(, AdaptivePoolTest,
                         ::testing::Combine(::testing::ValuesIn(kSpecs),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)),
                         [](const auto& info) {
                           AdaptivePoolSpec spec = std::get<0>(info.param);
                           spec.format = std::get<1>(info.param);
                           spec.dtype = std::get<2>(info.param);
                           return spec.ToString();
                         });

TEST(AdaptivePoolCallTest, WindowsAreThoseOfTheDefinition) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const AdaptivePoolSpec spec = Spec({1, 1, 5, 1}, 1, 3);  // [0, 2), [1, 4), [3, 5)
  const auto pool = *CreateAdaptivePool(*context, spec);
  const Tensor y = ZeroTensor(DType::kFloat32, spec.OutputShape());
  const Tensor x = TensorOf(DType::kFloat32, spec.InputShape(), {1, 2, 3, 7, 9});
  ASSERT_TRUE(pool->Forward(x, y).ok());
  EXPECT_EQ(Values(y), (Doubles{1.5, 4, 8}));
}

TEST(AdaptivePoolCallTest, SameBitsOnAnyNumberOfThreadsAndForASmallerBatch) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    AdaptivePoolSpec spec = Spec({9, 30, 31, 24}, 7, 7);
    spec.format = format;
    const auto pool = *CreateAdaptivePool(*context, spec);
    const Tensor x = RandomTensor(spec.dtype, spec.InputShape(), 1);
    const Tensor dy = RandomTensor(spec.dtype, spec.OutputShape(), 2);
    std::vector<Doubles> first;
    for (const int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
      const Tensor dx = ZeroTensor(spec.dtype, spec.InputShape());
      ASSERT_TRUE(pool->Forward(x, y).ok());
      ASSERT_TRUE(pool->Backward(dy, dx, false).ok());
      if (first.empty()) first = {Values(y), Values(dx)};
      EXPECT_TRUE((std::vector<Doubles>{Values(y), Values(dx)}) == first) << threads;
    }
    for (const int64_t images : {0, 1, 2}) {
      const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape().DropFirst().Prepend(images));
      const Tensor dx = ZeroTensor(spec.dtype, spec.InputShape().DropFirst().Prepend(images));
      ASSERT_TRUE(pool->Forward(x.Samples(0, images, format), y).ok());
      ASSERT_TRUE(pool->Backward(dy.Samples(0, images, format), dx, false).ok());
      EXPECT_EQ(Values(y), Doubles(first[0].begin(), first[0].begin() + y.num_elements()));
      EXPECT_EQ(Values(dx), Doubles(first[1].begin(), first[1].begin() + dx.num_elements()));
    }
  }
}

TEST(AdaptivePoolSpecTest, TokenAndErrors) {
  AdaptivePoolSpec spec = Spec({64, 8, 8, 256}, 1, 1);
  EXPECT_EQ(spec.ToString(), "adaptive_n64h8w8c256_o1x1_nhwc_f32");
  const auto context = *DeviceContext::Create(Device::Cpu());
  spec.out_height = 0;
  EXPECT_EQ(CreateAdaptivePool(*context, spec).status().message(),
            "adaptive pool: output height is 0, expected 1 to 16777216");
  spec = Spec({1 << 24, 1 << 24, 1 << 24, 1}, 1, 1);
  EXPECT_FALSE(spec.Validate().ok());
  spec = Spec({2, 4, 4, 3}, 2, 2);
  const auto pool = *CreateAdaptivePool(*context, spec);
  const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
  EXPECT_EQ(pool->Forward(x, x).message(),
            "adaptive pool: y has shape (2, 4, 4, 3) of float32 on cpu; expected (2, 2, 2, 3) of "
            "float32 on cpu");
  EXPECT_EQ(pool->Forward(Tensor(), x).message(), "adaptive pool: x is missing");
  const Tensor many = ZeroTensor(spec.dtype, {3, 4, 4, 3});
  EXPECT_EQ(pool->Forward(many, x).message(), "adaptive pool: x has 3 images, made for at most 2");
}

// One chain of float32 additions over 50 176 pixels would round by more than 1e-5.
TEST(AdaptivePoolRoundingTest, MeansOfLargeImagesAreSummedInParts) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const auto& [height, width] :
       {std::pair(224, 224), std::pair(65536, 3), std::pair(262144, 1), std::pair(1, 262144)}) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      AdaptivePoolSpec spec = Spec({1, height, width, 1}, 1, 1);
      spec.format = format;
      Doubles pixels = Values(RandomTensor(spec.dtype, spec.InputShape(), 1));
      double sum = 0;
      for (double& pixel : pixels) sum += pixel = std::abs(pixel);
      const Tensor x = TensorOf(spec.dtype, spec.InputShape(), pixels);
      const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
      ASSERT_EQ((*CreateAdaptivePool(*context, spec))->Forward(x, y), absl::OkStatus());
      EXPECT_NEAR(Values(y)[0] / (sum / double(pixels.size())), 1, 1.5e-6)
          << height << "x" << width << " " << int(format);
    }
  }
}

}  // namespace
}  // namespace dtnn
