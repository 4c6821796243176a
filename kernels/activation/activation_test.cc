#include "kernels/activation/activation.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/activation/reference.h"
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

// Around the number of lanes of every instruction set, and enough for several threads.
constexpr int64_t kLengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 70001};

double Epsilon(DType dtype) {
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                  : std::numeric_limits<double>::epsilon();
}

class ActivationTest : public ::testing::TestWithParam<std::tuple<ActivationKind, DType>> {
 protected:
  ActivationKind kind() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  // Comparisons are exact; functions may be wrong in the last digits.
  double tolerance() const {
    const bool compares = kind() == ActivationKind::kRelu || kind() == ActivationKind::kRelu6 ||
                          kind() == ActivationKind::kClip;
    return compares ? 0 : 6 * Epsilon(dtype());
  }
  // The tolerance of gradients from integers: polynomials of them are exact.
  double gradient_tolerance() const {
    const bool exact = kind() != ActivationKind::kLeakyRelu && kind() != ActivationKind::kArctanh &&
                       kind() != ActivationKind::kLog && kind() != ActivationKind::kHardSigmoid &&
                       kind() != ActivationKind::kSoftplus && !GradientReadsInput(kind());
    return exact ? 0 : 8 * Epsilon(dtype());
  }
  // Inputs where the function is defined.
  Tensor Inputs(const Shape& shape) const {
    return kind() == ActivationKind::kArctanh ? RandomTensor(dtype(), shape, 1)
                                              : IntegerTensor(dtype(), shape, 1, 9);
  }

  std::unique_ptr<Activation> Create(TensorFormat format = TensorFormat::kNHWC) const {
    return *CreateActivation(*context_, {.kind = kind(), .format = format, .dtype = dtype()});
  }
  std::vector<double> Expected(const std::vector<double>& x) const {
    std::vector<double> y(x.size());
    reference::ActivationForward(kind(), x, y);
    return y;
  }
  std::vector<double> Gradient(const std::vector<double>& y, const std::vector<double>& dy,
                               std::vector<double> dx, bool accumulate) const {
    reference::ActivationBackward(kind(), y, dy, dx, accumulate);
    return dx;
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(ActivationTest, ForwardEqualsReferenceForEveryLength) {
  for (const int64_t n : kLengths) {
    const Tensor x = Inputs({n}), y = ZeroTensor(dtype(), {n});
    ASSERT_TRUE(Create()->Forward(x, y).ok());
    EXPECT_TRUE(Close(Values(y), Expected(Values(x)), 0, tolerance())) << n;
  }
}

TEST_P(ActivationTest, BackwardEqualsReferenceForEveryLength) {
  for (const int64_t n : kLengths) {
    for (const bool accumulate : {false, true}) {
      const Tensor y = IntegerTensor(dtype(), {n}, 1), dy = IntegerTensor(dtype(), {n}, 2);
      const Tensor dx = IntegerTensor(dtype(), {n}, 3);
      const std::vector<double> expected = Gradient(Values(y), Values(dy), Values(dx), accumulate);
      ASSERT_TRUE(Create()->Backward(y, dy, dx, accumulate).ok());
      EXPECT_TRUE(Close(Values(dx), expected, 8 * gradient_tolerance(), gradient_tolerance())) << n;
    }
  }
}

TEST_P(ActivationTest, ExtremesAndNaN) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values = {-1e30, -800,  -103, -90, -20, -1e-3, -0.0,
                                0.0,   1e-30, 1e-5, 0.3, 20,  90,    1e30};
  if (kind() == ActivationKind::kArctanh) {
    values = {-1 + 0x1p-24, -0.999, -0.6, -1e-3, -0.0, 0.0, 1e-30, 1e-5, 0.3, 0.5, 1 - 0x1p-24};
  }
  const Tensor x = TensorOf(dtype(), {int64_t(values.size())}, values);
  const Tensor y = ZeroTensor(dtype(), x.shape());
  ASSERT_TRUE(Create()->Forward(x, y).ok());
  // Below the smallest normal number a sigmoid may lose digits.
  EXPECT_TRUE(Close(Values(y), Expected(Values(x)), 1e-37, tolerance()));

  const std::vector<double> specials = {infinity, -infinity, 1, -1, 1.5, -7, std::nan("")};
  const Tensor special = TensorOf(dtype(), {int64_t(specials.size())}, specials);
  ASSERT_TRUE(Create()->Forward(special, special).ok());
  for (size_t i = 0; i < specials.size(); ++i) {
    const double expected = reference::Activate(kind(), specials[i]);
    const double actual = Values(special)[i];
    SCOPED_TRACE(specials[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << "a diverged value was hidden";
    } else if (std::isinf(expected)) {
      EXPECT_EQ(actual, expected);
    } else {
      EXPECT_NEAR(actual, expected, tolerance() * std::abs(expected));
    }
  }
}

TEST_P(ActivationTest, NaNInAnyOperandOfTheGradientComesOut) {
  for (const int64_t n : {1, 5, 16, 33}) {
    for (const double value : {0.0, 0.5}) {  // where gradients are cut off, and where not
      const Tensor y = TensorOf(dtype(), {n}, std::vector<double>(size_t(n), value));
      const Tensor nans = NaNTensor(dtype(), {n}), dx = ZeroTensor(dtype(), {n});
      ASSERT_TRUE(Create()->Backward(y, nans, dx, false).ok());
      EXPECT_TRUE(KeepsNaN(Values(dx), Values(nans))) << "dy, at " << value;
      ASSERT_TRUE(Create()->Backward(nans, y, dx, false).ok());
      EXPECT_TRUE(KeepsNaN(Values(dx), Values(nans))) << "y, with a gradient of " << value;
      ASSERT_TRUE(Create()->Backward(y, y, nans, true).ok());
      EXPECT_TRUE(KeepsNaN(Values(nans), Values(NaNTensor(dtype(), {n})))) << "accumulated";
    }
  }
}

// What the forward pass makes of its extremes has a gradient too.
TEST_P(ActivationTest, GradientsOfExtremes) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> y = {0, 0.3, 1};
  if (GradientReadsInput(kind())) y = {-1e30, -90, -30, -3, -0.3, -1e-6, 0, 1e-3, 3, 9, 1e30};
  if (kind() == ActivationKind::kHardSigmoid) y = {0, 1e-30, 0.99, 1};
  if (kind() == ActivationKind::kLeakyRelu) y = {-infinity, -1e30, -1, 0, 1, infinity};
  if (kind() == ActivationKind::kRelu6) y = {0, 1e-30, 5.99, 6};
  if (kind() == ActivationKind::kElu) y = {-1, -1 + 0x1p-23, -1e-30, -0.0, 1e-30, infinity};
  if (kind() == ActivationKind::kClip) y = {-1, -1 + 0x1p-23, 0, 1 - 0x1p-23, 1};
  if (kind() == ActivationKind::kSoftplus) y = {0, 1e-30, 1e-5, 0.6, 20, 90, 1e30, infinity};
  if (kind() == ActivationKind::kArctanh) y = {-18, -8, -1e-5, 0, 1e-5, 8, 18};
  if (kind() == ActivationKind::kLog) y = {-infinity, -1e30, -200, -90, -1, -1e-3, -1e-6, -0.0};
  const std::vector<double> ones(y.size(), 1);
  const Tensor dx = ZeroTensor(dtype(), {int64_t(y.size())});
  const Tensor values = TensorOf(dtype(), dx.shape(), y);
  ASSERT_TRUE(Create()->Backward(values, TensorOf(dtype(), dx.shape(), ones), dx, false).ok());
  EXPECT_TRUE(Close(Values(dx), Gradient(Values(values), ones, Values(dx), false),
                    2 * Epsilon(dtype()) * 1e-6, 60 * Epsilon(dtype())));
}

TEST_P(ActivationTest, PitchedViewsInBothFormats) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape shape = {2, 3, 5, 4};
    const Tensor x = Pitched(RandomTensor(dtype(), shape, 1), format);
    const Tensor y = Pitched(ZeroTensor(dtype(), shape), format);
    const Tensor dy = RandomTensor(dtype(), shape, 2);  // dense beside pitched ones
    const Tensor dx = Pitched(ZeroTensor(dtype(), shape), format);
    const auto activation = Create(format);
    ASSERT_TRUE(activation->Forward(x, y).ok());
    EXPECT_TRUE(Close(Values(y, format), Expected(Values(x, format)), 0, tolerance()));
    ASSERT_TRUE(activation->Backward(y, dy, dx, false).ok());
    const std::vector<double> zeros(size_t(shape.NumElements()));
    EXPECT_TRUE(Close(Values(dx, format), Gradient(Values(y, format), Values(dy), zeros, false),
                      Epsilon(dtype()), 2 * Epsilon(dtype()) + gradient_tolerance()));
    // The padding around the view is still NaN.
    EXPECT_TRUE(
        std::isnan(dtype() == DType::kFloat32 ? y.data<float>()[-1] : y.data<double>()[-1]));
  }
}

TEST_P(ActivationTest, WorksInPlace) {
  const Tensor x = RandomTensor(dtype(), {1000}, 1), dy = RandomTensor(dtype(), {1000}, 2);
  const std::vector<double> y = Expected(Values(x)), gradient = Values(dy);
  ASSERT_TRUE(Create()->Forward(x, x).ok());
  EXPECT_TRUE(Close(Values(x), y, 0, tolerance()));
  const std::vector<double> dx =
      Gradient(Values(x), gradient, std::vector<double>(gradient.size()), false);
  ASSERT_TRUE(Create()->Backward(x, dy, dy, false).ok());
  EXPECT_TRUE(Close(Values(dy), dx, Epsilon(dtype()), 2 * Epsilon(dtype()) + gradient_tolerance()));
}

TEST_P(ActivationTest, SameBitsOnAnyNumberOfThreads) {
  const Tensor x = RandomTensor(dtype(), {100003}, 1);
  std::vector<double> first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor y = ZeroTensor(dtype(), x.shape());
    ASSERT_TRUE(Create()->Forward(x, y).ok());
    if (first.empty()) first = Values(y);
    EXPECT_EQ(Values(y), first) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(, ActivationTest,
                         ::testing::Combine(::testing::ValuesIn(kActivationKinds),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)),
                         [](const auto& info) {
                           return std::string(Name(std::get<0>(info.param))) + "_" +
                                  std::string(Name(std::get<1>(info.param)));
                         });

// Other numbers than PyTorch's, in each element type; bounds that a bfloat16 cannot have, too.
TEST(ActivationNumbersTest, EqualTheReference) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const float most = std::numeric_limits<float>::max();
  const std::pair<ActivationKind, ActivationNumbers> functions[] = {
      {ActivationKind::kLeakyRelu, {.slope = 0.25}},
      {ActivationKind::kLeakyRelu, {.slope = 0}},
      {ActivationKind::kElu, {.alpha = 2.5}},
      {ActivationKind::kElu, {.alpha = 0}},
      {ActivationKind::kClip, {.low = -0.5, .high = 2}},
      {ActivationKind::kClip, {.low = 1, .high = most}},
      {ActivationKind::kClip, {.low = -most, .high = -0.25}},
      {ActivationKind::kClip, {.low = 0.5, .high = 0.5}}};
  for (const auto& [kind, numbers] : functions) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
      SCOPED_TRACE(Name(kind));
      const double epsilon = dtype == DType::kBfloat16 ? 0x1p-8 : Epsilon(dtype);
      const auto activation =
          *CreateActivation(*context, {.kind = kind, .dtype = dtype, .numbers = numbers});
      const Tensor x = IntegerTensor(dtype, {37}, 1, 9), dy = IntegerTensor(dtype, {37}, 2);
      const Tensor y = ZeroTensor(dtype, {37}), dx = ZeroTensor(dtype, {37});
      ASSERT_EQ(activation->Forward(x, y), absl::OkStatus());
      std::vector<double> expected(37), slopes(37);
      reference::ActivationForward(kind, Values(x), expected, numbers);
      EXPECT_TRUE(Close(Values(y), expected, 0, 6 * epsilon));
      ASSERT_EQ(activation->Backward(y, dy, dx, false), absl::OkStatus());
      reference::ActivationBackward(kind, Values(y), Values(dy), slopes, false, numbers);
      EXPECT_TRUE(Close(Values(dx), slopes, epsilon, 2 * epsilon));
    }
  }
}

// 0.1 and 0.3 are not among them, and what was clipped must have no gradient.
TEST(ActivationNumbersTest, BoundsAreRoundedAsElementsAre) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    const auto clip = *CreateActivation(
        *context,
        {.kind = ActivationKind::kClip, .dtype = dtype, .numbers = {.low = 0.1, .high = 0.3}});
    const Tensor x = TensorOf(dtype, {3}, {0, 0.25, 1}), ones = testing::OnesTensor(dtype, {3});
    ASSERT_EQ(clip->Forward(x, x), absl::OkStatus());
    ASSERT_EQ(clip->Backward(x, ones, ones, false), absl::OkStatus());
    EXPECT_EQ(Values(ones), (std::vector<double>{0, 1, 0})) << Name(dtype);
  }
}

TEST(ActivationReferenceTest, SlopeIsTheDerivative) {
  for (const auto kind : kActivationKinds) {
    for (const double x : {-2.5, -0.4, 0.3, 1.7, 6.5}) {
      if (kind == ActivationKind::kArctanh && std::abs(x) >= 1) continue;
      const double h = 1e-5;
      const double slope =
          (reference::Activate(kind, x + h) - reference::Activate(kind, x - h)) / (2 * h);
      const double point = GradientReadsInput(kind) ? x : reference::Activate(kind, x);
      EXPECT_NEAR(reference::ActivationSlope(kind, point), slope, 1e-9)
          << Name(kind) << " at " << x;
    }
  }
}

TEST(ActivationCreateTest, RefusesIntegersAndDifferentShapes) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(CreateActivation(*context, {.dtype = DType::kInt32}).status().message(),
            "relu: dtype int32, expected float32 or float64");
  EXPECT_EQ(CreateActivation(*context, {.kind = ActivationKind::kElu, .numbers = {.alpha = -1}})
                .status()
                .message(),
            "elu: alpha is -1, expected a number from 0 on that a float can be");
  const auto relu = *CreateActivation(*context, {});
  EXPECT_EQ(
      relu->Forward(ZeroTensor(DType::kFloat32, {3}), ZeroTensor(DType::kFloat32, {4})).code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
