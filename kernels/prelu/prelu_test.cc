#include "kernels/prelu/prelu.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/prelu/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::HasNaN;
using testing::IntegerTensor;
using testing::NaNTensor;
using testing::OnesTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::SumTolerance;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

struct Case {
  TensorFormat format;
  Shape shape;
  int64_t channels, inner;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t columns : {1, 3, 8, 17, 65, 600}) {
    cases.push_back({TensorFormat::kNHWC, {9, columns}, columns, 1});
    cases.push_back({TensorFormat::kNCHW, {2, columns}, columns, 1});
  }
  for (const int64_t channels : {1, 3, 16, 33}) {
    cases.push_back({TensorFormat::kNHWC, {2, 5, 7, channels}, channels, 1});
    cases.push_back({TensorFormat::kNCHW, {2, channels, 5, 7}, channels, 35});
    cases.push_back({TensorFormat::kNCHW, {3, channels, 1, 1}, channels, 1});
  }
  cases.push_back({TensorFormat::kNHWC, {8, 28, 28, 8}, 8, 1});  // enough for two threads
  cases.push_back({TensorFormat::kNCHW, {8, 8, 28, 28}, 8, 784});
  return cases;
}

class PReluTest : public ::testing::TestWithParam<DType> {
 protected:
  std::unique_ptr<PRelu> Create(const Case& c, bool one_slope) const {
    return *CreatePRelu(
        *context_,
        {.channels = one_slope ? 1 : c.channels, .format = c.format, .dtype = GetParam()});
  }

  void Check(const Case& c, bool one_slope, bool integers, bool pitched, bool accumulate) {
    const auto make = [&](const Shape& shape, uint64_t seed) {
      const Tensor dense =
          integers ? IntegerTensor(GetParam(), shape, seed) : RandomTensor(GetParam(), shape, seed);
      return pitched && shape.rank() > 1 ? Pitched(dense, c.format) : dense;
    };
    const auto of = [&](const Tensor& tensor) {
      return tensor.shape().rank() > 1 ? Values(tensor, c.format) : Values(tensor);
    };
    const int64_t channels = one_slope ? 1 : c.channels;
    const reference::PReluView view = {size_t(channels), size_t(one_slope ? 1 : c.inner)};
    const Tensor x = make(c.shape, 1), dy = make(c.shape, 2), y = make(c.shape, 3),
                 dx = make(c.shape, 4), slopes = make({channels}, 5), dslopes = make({channels}, 6);
    std::vector<double> expected_y = of(y), expected_dx = of(dx), expected_slopes = of(dslopes);
    reference::PReluForward(view, of(x), of(slopes), expected_y);
    reference::PReluBackward(view, of(x), of(slopes), of(dy), expected_dx, accumulate);
    reference::PReluSlopeGradient(view, of(x), of(dy), expected_slopes);
    const auto prelu = Create(c, one_slope);
    ASSERT_EQ(prelu->Forward(x, slopes, y), absl::OkStatus());
    EXPECT_TRUE(Close(of(y), expected_y, integers ? 0 : SumTolerance(GetParam(), 1)));
    ASSERT_EQ(prelu->Backward(x, slopes, dy, dx, accumulate), absl::OkStatus());
    EXPECT_TRUE(Close(of(dx), expected_dx, integers ? 0 : SumTolerance(GetParam(), 2)));
    ASSERT_EQ(prelu->SlopeGradient(x, dy, dslopes), absl::OkStatus());
    EXPECT_TRUE(Close(of(dslopes), expected_slopes,
                      integers ? 0 : SumTolerance(GetParam(), c.shape.NumElements() / channels)));
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};
INSTANTIATE_TEST_SUITE_P(, PReluTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(PReluTest, EqualsItsReference) {
  for (const Case& c : Cases()) {
    for (const bool integers : {true, false}) {
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(c.shape.ToString());
        Check(c, /*one_slope=*/false, integers, /*pitched=*/false, accumulate);
        Check(c, /*one_slope=*/true, integers, /*pitched=*/false, accumulate);
        if (c.channels > 1) Check(c, /*one_slope=*/false, integers, /*pitched=*/true, accumulate);
      }
    }
  }
}

TEST_P(PReluTest, WorksInPlace) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.shape.ToString());
    const Tensor x = IntegerTensor(GetParam(), c.shape, 1),
                 dy = IntegerTensor(GetParam(), c.shape, 2),
                 slopes = IntegerTensor(GetParam(), {c.channels}, 3);
    std::vector<double> y = Values(x), dx = Values(dy);
    const reference::PReluView view = {size_t(c.channels), size_t(c.inner)};
    reference::PReluForward(view, Values(x), Values(slopes), y);
    reference::PReluBackward(view, Values(x), Values(slopes), Values(dy), dx, false);
    const auto prelu = Create(c, /*one_slope=*/false);
    ASSERT_TRUE(prelu->Backward(x, slopes, dy, dy, false).ok());
    EXPECT_EQ(Values(dy), dx);
    ASSERT_TRUE(prelu->Forward(x, slopes, x).ok());
    EXPECT_EQ(Values(x), y);
  }
}

TEST_P(PReluTest, SameBitsOnAnyNumberOfThreads) {
  for (const Case& c : {Case{TensorFormat::kNHWC, {40, 33, 15, 3}, 3, 1},
                        Case{TensorFormat::kNCHW, {40, 3, 33, 15}, 3, 495}}) {
    for (const bool one_slope : {false, true}) {
      std::vector<double> first;
      for (const int threads : {1, 2, 4}) {
        SetNumThreads(threads);
        const Tensor x = RandomTensor(GetParam(), c.shape, 1),
                     dy = RandomTensor(GetParam(), c.shape, 2),
                     dslopes = ZeroTensor(GetParam(), {one_slope ? 1 : c.channels});
        ASSERT_TRUE(Create(c, one_slope)->SlopeGradient(x, dy, dslopes).ok());
        if (first.empty()) first = Values(dslopes);
        EXPECT_EQ(Values(dslopes), first) << threads << " threads";
      }
    }
  }
}

TEST_P(PReluTest, NaNInAnyOperandComesOut) {
  const Shape shape = {3, 5};
  const Tensor nans = NaNTensor(GetParam(), shape), ones = OnesTensor(GetParam(), shape);
  const Tensor minus = TensorOf(GetParam(), {1, 5}, {-1, -1, -1, -1, -1});
  const Tensor slopes = OnesTensor(GetParam(), {5}), nan_slopes = NaNTensor(GetParam(), {5});
  const auto prelu = *CreatePRelu(*context_, {.channels = 5, .dtype = GetParam()});
  const Tensor y = ZeroTensor(GetParam(), shape), one = ZeroTensor(GetParam(), {1, 5});
  ASSERT_TRUE(prelu->Forward(nans, slopes, y).ok());
  EXPECT_TRUE(HasNaN(Values(y)));
  ASSERT_TRUE(prelu->Forward(minus, nan_slopes, one).ok());
  EXPECT_TRUE(HasNaN(Values(one)));
  for (const auto& [x, dy] : {std::pair(nans, ones), {ones, nans}}) {
    ASSERT_TRUE(prelu->Backward(x, slopes, dy, y, false).ok());
    EXPECT_TRUE(HasNaN(Values(y)));
    const Tensor dslopes = ZeroTensor(GetParam(), {5});
    const Tensor overwritten = TensorOf(GetParam(), shape, Values(dy));
    ASSERT_TRUE(prelu->SlopeGradient(x, overwritten, dslopes).ok());
    EXPECT_TRUE(HasNaN(Values(dslopes)));
  }
}

// Computed in float32, and rounded once.
TEST(PReluBfloat16Test, IsRoundedOnce) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const int64_t channels : {1, 19}) {
    std::vector<double> results[2];
    const Tensor x = RandomTensor(DType::kBfloat16, {7, 19}, 1),
                 dy = RandomTensor(DType::kBfloat16, {7, 19}, 2),
                 slopes = RandomTensor(DType::kFloat32, {channels}, 3);
    for (const DType dtype : {DType::kBfloat16, DType::kFloat32}) {
      const auto of = [&](const Tensor& tensor) {
        return TensorOf(dtype, tensor.shape(), Values(tensor));
      };
      const Tensor y = of(x), dx = of(dy);
      const auto prelu = *CreatePRelu(*context, {.channels = channels, .dtype = dtype});
      ASSERT_TRUE(prelu->Forward(of(x), slopes, y).ok());
      ASSERT_TRUE(prelu->Backward(of(x), slopes, of(dy), dx, false).ok());
      std::vector<double>& result = results[dtype == DType::kFloat32 ? 1 : 0];
      result = Values(y);
      for (const double value : Values(dx)) result.push_back(value);
    }
    for (double& value : results[1]) value = double(Bfloat16(float(value)));
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST(PReluCreateTest, RefusesOtherShapes) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(CreatePRelu(*context, {.channels = 0}).status().message(),
            "prelu: bias: 0 channels, expected at least 1");
  const auto prelu = *CreatePRelu(*context, {.channels = 3});
  const Tensor x = OnesTensor(DType::kFloat32, {2, 4}), slopes = OnesTensor(DType::kFloat32, {3});
  EXPECT_EQ(prelu->Forward(x, slopes, x).message(),
            "prelu: shape (2, 4), expected a matrix or images of 3 channels");
  const Tensor three = OnesTensor(DType::kFloat32, {2, 3});
  EXPECT_EQ(prelu->Forward(three, three, three).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(prelu->Backward(three, slopes, x, three, false).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
