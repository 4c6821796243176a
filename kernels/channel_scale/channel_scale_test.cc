#include "kernels/channel_scale/channel_scale.h"

#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/channel_scale/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::OnesTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::SumTolerance;
using testing::Values;

constexpr ImageExtents kImages[] = {{1, 1, 1},   {1, 1, 5},   {2, 3, 7},  {5, 4, 16},
                                    {3, 17, 33}, {1, 2, 300}, {21, 30, 3}};
constexpr int64_t kBatch = 2;

class ChannelScaleTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType>> {
 protected:
  TensorFormat format() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  Shape Of(const ImageExtents& image) const { return SampleShape(image, format()).Prepend(kBatch); }
  Shape Factors(const ImageExtents& image) const { return Of({1, 1, image.channels}); }
  reference::ScaledImages Layout(const ImageExtents& image) const {
    return {size_t(kBatch), size_t(image.height * image.width), size_t(image.channels),
            format() == TensorFormat::kNCHW};
  }
  std::vector<double> ValuesOf(const Tensor& tensor) const { return Values(tensor, format()); }

  // All operands dense, or all with a pitch.
  void Check(const ImageExtents& image, bool integers, bool pitched, bool accumulate) {
    const auto make = [&](const Shape& shape, uint64_t seed) {
      const Tensor dense =
          integers ? IntegerTensor(dtype(), shape, seed) : RandomTensor(dtype(), shape, seed);
      return pitched ? Pitched(dense, format()) : dense;
    };
    const Tensor x = make(Of(image), 1), s = make(Factors(image), 2), y = make(Of(image), 3),
                 dy = make(Of(image), 4), ds = make(Factors(image), 5);
    std::vector<double> products = ValuesOf(y), sums = ValuesOf(ds);
    reference::Multiply(Layout(image), ValuesOf(x), ValuesOf(s), products, accumulate);
    reference::Reduce(Layout(image), ValuesOf(x), ValuesOf(dy), sums, accumulate);
    const auto scale = *CreateChannelScale(*context_, {format(), dtype()});
    ASSERT_EQ(scale->Multiply(x, s, y, accumulate), absl::OkStatus());
    ASSERT_EQ(scale->Reduce(x, dy, ds, accumulate), absl::OkStatus());
    EXPECT_TRUE(Close(ValuesOf(y), products, integers ? 0 : SumTolerance(dtype(), 1)));
    EXPECT_TRUE(Close(ValuesOf(ds), sums,
                      integers ? 0 : SumTolerance(dtype(), image.height * image.width)));
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(ChannelScaleTest, EqualsItsReference) {
  for (const ImageExtents& image : kImages) {
    for (const bool integers : {true, false}) {
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(ToString(image));
        Check(image, integers, /*pitched=*/false, accumulate);
        Check(image, integers, /*pitched=*/true, accumulate);
      }
    }
  }
}

TEST_P(ChannelScaleTest, MultipliesInPlace) {
  const ImageExtents image = {3, 5, 9};
  const Tensor x = IntegerTensor(dtype(), Of(image), 1),
               s = IntegerTensor(dtype(), Factors(image), 2);
  std::vector<double> expected(size_t(x.num_elements()));
  reference::Multiply(Layout(image), Values(x), Values(s), expected, false);
  ASSERT_TRUE((*CreateChannelScale(*context_, {format(), dtype()}))->Multiply(x, s, x, false).ok());
  EXPECT_EQ(Values(x), expected);
}

TEST_P(ChannelScaleTest, SameBitsOnAnyNumberOfThreads) {
  const ImageExtents image = {40, 33, 150};
  const Tensor x = RandomTensor(dtype(), Of(image), 1), dy = RandomTensor(dtype(), Of(image), 2);
  const auto scale = *CreateChannelScale(*context_, {format(), dtype()});
  std::vector<double> first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor ds = testing::ZeroTensor(dtype(), Factors(image));
    ASSERT_TRUE(scale->Reduce(x, dy, ds, false).ok());
    if (first.empty()) first = Values(ds);
    EXPECT_EQ(Values(ds), first) << threads << " threads";
  }
}

TEST_P(ChannelScaleTest, NaNInAnyOperandComesOut) {
  const Shape shape = Of({2, 3, 1});
  const Tensor nans = NaNTensor(dtype(), shape), ones = OnesTensor(dtype(), shape);
  const Tensor y = OnesTensor(dtype(), shape);
  const Shape factors = Of({1, 1, 1});
  const auto scale = *CreateChannelScale(*context_, {format(), dtype()});
  ASSERT_TRUE(scale->Multiply(nans, OnesTensor(dtype(), factors), y, false).ok());
  EXPECT_TRUE(KeepsNaN(Values(y), Values(nans)));
  ASSERT_TRUE(scale->Multiply(ones, NaNTensor(dtype(), factors), y, false).ok());
  EXPECT_TRUE(testing::HasNaN(Values(y)));
  for (const auto& [x, dy] : {std::pair(nans, ones), {ones, nans}}) {
    const Tensor ds = OnesTensor(dtype(), factors);
    ASSERT_TRUE(scale->Reduce(x, dy, ds, false).ok());
    EXPECT_TRUE(testing::HasNaN(Values(ds)));
  }
}

TEST_P(ChannelScaleTest, RefusesFactorsOfOtherShapes) {
  const auto scale = *CreateChannelScale(*context_, {format(), dtype()});
  const Tensor x = OnesTensor(dtype(), Of({2, 3, 4})), s = OnesTensor(dtype(), Of({1, 1, 5}));
  EXPECT_EQ(scale->Multiply(x, s, x, false).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scale->Reduce(x, x, s, false).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scale->Multiply(x, x, x, false).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, ChannelScaleTest,
                         ::testing::Combine(::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

// Computed in float32, and rounded once.
TEST(ChannelScaleBfloat16Test, IsRoundedOnce) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape shape = SampleShape({5, 7, 19}, format).Prepend(3),
                factors = SampleShape({1, 1, 19}, format).Prepend(3);
    std::vector<double> results[2];
    const Tensor x = RandomTensor(DType::kBfloat16, shape, 1),
                 s = RandomTensor(DType::kBfloat16, factors, 2);
    for (const DType dtype : {DType::kBfloat16, DType::kFloat32}) {
      const auto of = [&](const Tensor& tensor) {
        return testing::TensorOf(dtype, tensor.shape(), Values(tensor));
      };
      const Tensor y = of(x), ds = of(s);
      const auto scale = *CreateChannelScale(*context, {format, dtype});
      ASSERT_TRUE(scale->Multiply(of(x), of(s), y, true).ok());
      ASSERT_TRUE(scale->Reduce(of(x), of(x), ds, true).ok());
      std::vector<double>& result = results[dtype == DType::kFloat32 ? 1 : 0];
      result = Values(y);
      for (const double value : Values(ds)) result.push_back(value);
    }
    for (double& value : results[1]) value = double(Bfloat16(float(value)));
    EXPECT_EQ(results[0], results[1]);
  }
}

}  // namespace
}  // namespace dtnn
