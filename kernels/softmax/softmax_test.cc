#include "kernels/softmax/softmax.h"

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/softmax/reference.h"
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
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

constexpr TensorFormat kMatrix = TensorFormat::kNHWC;
constexpr int64_t kColumns[] = {1, 2, 3, 7, 8, 9, 10, 15, 16, 17, 33, 100, 1000};

double Epsilon(DType dtype) {
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                  : std::numeric_limits<double>::epsilon();
}

std::span<const double> Row(const Doubles& values, int64_t row, int64_t columns) {
  return std::span(values).subspan(size_t(row * columns), size_t(columns));
}
std::span<double> Row(Doubles& values, int64_t row, int64_t columns) {
  return std::span(values).subspan(size_t(row * columns), size_t(columns));
}

Doubles Probabilities(const Doubles& x, int64_t rows, int64_t columns) {
  Doubles y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    reference::SoftmaxForward(Row(x, r, columns), Row(y, r, columns));
  }
  return y;
}

Tensor Labels(int64_t rows, int64_t columns) {
  Doubles labels;
  for (int64_t r = 0; r < rows; ++r) labels.push_back(double(r * 7 % columns));
  return TensorOf(DType::kInt32, {rows}, labels);
}

class SoftmaxTest : public ::testing::TestWithParam<DType> {
 protected:
  std::unique_ptr<Softmax> Create(int64_t rows, int64_t columns) const {
    return *CreateSoftmax(*context_, {.rows = rows, .columns = columns, .dtype = GetParam()});
  }
  std::unique_ptr<SoftmaxCrossEntropy> CreateFused(int64_t rows, int64_t columns,
                                                   double smoothing = 0) const {
    return *CreateSoftmaxCrossEntropy(
        *context_,
        {.rows = rows, .columns = columns, .dtype = GetParam(), .label_smoothing = smoothing});
  }
  void ExpectCrossEntropyLikeReference(int64_t columns, double smoothing) const;
  // Relative, for values that sums of up to 1000 terms went into.
  double tolerance() const { return 32 * Epsilon(GetParam()); }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(SoftmaxTest, ForwardEqualsReferenceDensePitchedAndInPlace) {
  for (const int64_t columns : kColumns) {
    for (const int64_t rows : {1, 5}) {
      const Tensor x = IntegerTensor(GetParam(), {rows, columns}, 1, 20);
      const Doubles expected = Probabilities(Values(x), rows, columns);
      const auto softmax = Create(rows, columns);
      const Tensor y = Pitched(ZeroTensor(GetParam(), x.shape()), kMatrix);
      ASSERT_TRUE(softmax->Forward(Pitched(x, kMatrix), y).ok());
      EXPECT_TRUE(Close(Values(y), expected, 0, tolerance())) << columns;
      ASSERT_TRUE(softmax->Forward(x, x).ok());
      EXPECT_TRUE(Close(Values(x), expected, 0, tolerance())) << columns;
    }
  }
}

// Computed in float32, and rounded once.
TEST(SoftmaxBfloat16Test, NarrowResultsAreRoundedOnce) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  constexpr DType kHalf = DType::kBfloat16, kWide = DType::kFloat32;
  for (const int64_t columns : kColumns) {
    const Shape shape = {3, columns};
    SoftmaxSpec spec = {.rows = 3, .columns = columns};
    const auto wide = *CreateSoftmax(*cpu, spec);
    spec.dtype = kHalf, spec.narrow_result = true;
    const auto half = *CreateSoftmax(*cpu, spec);
    const auto rounded = [](Doubles values) {
      for (double& value : values) value = double(Bfloat16(float(value)));
      return values;
    };
    const auto widened = [&](const Tensor& from) { return TensorOf(kWide, shape, Values(from)); };
    for (const bool accumulate : {false, true}) {
      const Tensor x = RandomTensor(kHalf, shape, 1), dy = RandomTensor(kHalf, shape, 2),
                   y = Pitched(ZeroTensor(kHalf, shape), kMatrix),
                   dx = RandomTensor(kHalf, shape, 3);
      const Tensor wide_x = widened(x), wide_dx = widened(dx);
      ASSERT_EQ(half->Forward(Pitched(x, kMatrix), y), absl::OkStatus());
      ASSERT_EQ(half->Backward(y, Pitched(dy, kMatrix), dx, accumulate), absl::OkStatus());
      ASSERT_EQ(wide->Backward(widened(y), widened(dy), wide_dx, accumulate), absl::OkStatus());
      ASSERT_EQ(wide->Forward(wide_x, wide_x), absl::OkStatus());
      EXPECT_EQ(Values(y), rounded(Values(wide_x))) << columns;
      EXPECT_EQ(Values(dx), rounded(Values(wide_dx))) << columns;
      ASSERT_EQ(half->Forward(x, x), absl::OkStatus());
      EXPECT_EQ(Values(x), Values(y)) << columns << " in place";
    }
  }
}

TEST_P(SoftmaxTest, EqualLogitsAreExactAndLargeOnesDoNotOverflow) {
  const Tensor x = TensorOf(GetParam(), {4, 4},
                            {5, 5, 5, 5,           //
                             1e30, 0, 0, -1e30,    //
                             900, 900, 100, -900,  //
                             -900, -1e30, -1e30, -900});
  ASSERT_TRUE(Create(4, 4)->Forward(x, x).ok());
  EXPECT_EQ(Values(x), (Doubles{.25, .25, .25, .25, 1, 0, 0, 0, .5, .5, 0, 0, .5, 0, 0, .5}));
}

TEST_P(SoftmaxTest, NaNFillsItsRowOnly) {
  const Tensor x = TensorOf(GetParam(), {2, 3}, {1, std::nan(""), 2, 7, 7, 7});
  ASSERT_TRUE(Create(2, 3)->Forward(x, x).ok());
  const Doubles y = Values(x);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y[size_t(i)]));
  EXPECT_NEAR(y[4], 1.0 / 3, 1e-6);
}

TEST_P(SoftmaxTest, NaNInAnyOperandComesOut) {
  for (const int64_t columns : kColumns) {
    const Shape shape = {3, columns};
    const Tensor nans = NaNTensor(GetParam(), shape), ones = OnesTensor(GetParam(), shape);
    // The first, the second and the third row have one each.
    const Doubles all(size_t(3 * columns), std::nan(""));
    const Tensor y = ZeroTensor(GetParam(), shape);
    ASSERT_TRUE(Create(3, columns)->Forward(nans, y).ok());
    EXPECT_TRUE(KeepsNaN(Values(y), all)) << columns;
    for (const auto& [of_y, dy] : {std::pair(nans, ones), {ones, nans}}) {
      ASSERT_TRUE(Create(3, columns)->Backward(of_y, dy, y, false).ok());
      EXPECT_TRUE(KeepsNaN(Values(y), all)) << columns;
    }
    for (const double smoothing : {0.0, 0.1}) {
      const Tensor losses = ZeroTensor(GetParam(), {3}), dx = ZeroTensor(GetParam(), shape);
      ASSERT_TRUE(CreateFused(3, columns, smoothing)
                      ->Run(nans, Labels(3, columns), y, losses, dx, 0.5)
                      .ok());
      EXPECT_TRUE(KeepsNaN(Values(losses), Doubles(3, std::nan(""))));
      EXPECT_TRUE(KeepsNaN(Values(dx), all)) << columns;
    }
  }
}

TEST_P(SoftmaxTest, BackwardEqualsReference) {
  for (const int64_t columns : kColumns) {
    for (const bool accumulate : {false, true}) {
      // Integers instead of probabilities: the formula is exact on them.
      const int64_t rows = 3;
      const Tensor y = IntegerTensor(GetParam(), {rows, columns}, 1);
      const Tensor dy = IntegerTensor(GetParam(), {rows, columns}, 2);
      const Tensor dx = IntegerTensor(GetParam(), {rows, columns}, 3);
      Doubles expected = Values(dx);
      for (int64_t r = 0; r < rows; ++r) {
        reference::SoftmaxBackward(Row(Values(y), r, columns), Row(Values(dy), r, columns),
                                   Row(expected, r, columns), accumulate);
      }
      const Tensor pitched = Pitched(dx, kMatrix);
      const auto softmax = Create(rows, columns);
      ASSERT_TRUE(softmax->Backward(Pitched(y, kMatrix), dy, pitched, accumulate).ok());
      EXPECT_TRUE(Close(Values(pitched), expected, 0)) << columns;
      if (accumulate) continue;
      ASSERT_TRUE(softmax->Backward(y, dy, dy, false).ok());
      EXPECT_TRUE(Close(Values(dy), expected, 0)) << columns << " in place";
    }
  }
}

void SoftmaxTest::ExpectCrossEntropyLikeReference(int64_t columns, double smoothing) const {
  const int64_t rows = 5;
  const double scale = 1.0 / 8;
  const Tensor x = IntegerTensor(GetParam(), {rows, columns}, 1, 6);
  const Tensor labels = Labels(rows, columns);
  const Doubles logits = Values(x), y = Probabilities(logits, rows, columns);
  Doubles losses(static_cast<size_t>(rows)), dx(y.size());
  for (int64_t r = 0; r < rows; ++r) {
    const size_t label = size_t(labels.data<int32_t>()[r]);
    losses[size_t(r)] = reference::CrossEntropy(Row(logits, r, columns), label, smoothing);
    reference::CrossEntropyGradient(Row(std::as_const(y), r, columns), label, scale,
                                    Row(dx, r, columns), smoothing);
  }
  const auto fused = CreateFused(rows, columns, smoothing);
  const Tensor actual_y = Pitched(ZeroTensor(GetParam(), x.shape()), kMatrix);
  const Tensor actual_losses = ZeroTensor(GetParam(), {rows});
  ASSERT_TRUE(
      fused->Run(Pitched(x, kMatrix), labels, actual_y, actual_losses, Tensor(), scale).ok());
  EXPECT_TRUE(Close(Values(actual_y), y, 0, tolerance())) << columns;
  EXPECT_TRUE(Close(Values(actual_losses), losses, tolerance(), tolerance())) << columns;
  // y may be x.
  const Tensor in_place = Pitched(x, kMatrix);
  const Tensor actual_dx = ZeroTensor(GetParam(), x.shape());
  ASSERT_TRUE(fused->Run(in_place, labels, in_place, actual_losses, actual_dx, scale).ok());
  EXPECT_TRUE(Close(Values(actual_losses), losses, tolerance(), tolerance())) << columns;
  EXPECT_TRUE(Close(Values(actual_dx), dx, tolerance())) << columns;
  // dx may be x.
  ASSERT_TRUE(fused->Run(x, labels, actual_y, actual_losses, x, scale).ok());
  EXPECT_TRUE(Close(Values(x), dx, tolerance())) << columns;
  EXPECT_TRUE(Close(Values(actual_losses), losses, tolerance(), tolerance())) << columns;
}

TEST_P(SoftmaxTest, CrossEntropyEqualsReference) {
  for (const int64_t columns : kColumns) {
    for (const double smoothing : {0.0, 0.125}) {
      ExpectCrossEntropyLikeReference(columns, smoothing);
    }
  }
}

// p = (.7, .2, .1), t' = (.8, .1, .1): 0.8 * -log(.7) + 0.1 * -log(.2) + 0.1 * -log(.1).
TEST_P(SoftmaxTest, GoldenSmoothedCrossEntropy) {
  const Tensor x = TensorOf(GetParam(), {1, 3}, {std::log(.7), std::log(.2), std::log(.1)});
  const Tensor losses = ZeroTensor(GetParam(), {1}), dx = ZeroTensor(GetParam(), {1, 3});
  ASSERT_TRUE(CreateFused(1, 3, 0.3)->Run(x, Labels(1, 3), x, losses, dx, 1).ok());
  EXPECT_TRUE(Close(Values(losses), {0.67654225569}, tolerance() + 1e-11));
  EXPECT_TRUE(Close(Values(dx), {-.1, .1, 0}, tolerance()));
}

TEST_P(SoftmaxTest, GoldenCrossEntropy) {
  const Tensor x = TensorOf(GetParam(), {1, 3}, {std::log(.7), std::log(.2), std::log(.1)});
  const Tensor losses = ZeroTensor(GetParam(), {1}), dx = ZeroTensor(GetParam(), {1, 3});
  ASSERT_TRUE(CreateFused(1, 3)->Run(x, Labels(1, 3), x, losses, dx, 1).ok());
  EXPECT_TRUE(Close(Values(losses), {0.35667494393873245}, 0, tolerance()));
  EXPECT_TRUE(Close(Values(dx), {-.3, .2, .1}, tolerance()));
}

TEST_P(SoftmaxTest, LossIsClippedAndKeepsDigitsOfAConfidentWrongAnswer) {
  const Tensor x = TensorOf(GetParam(), {3, 2}, {-1000, 0, 1000, 0, -15, 0});
  const Tensor labels = TensorOf(DType::kInt32, {3}, {0, 0, 0});
  const Tensor losses = ZeroTensor(GetParam(), {3});
  ASSERT_TRUE(CreateFused(3, 2)->Run(x, labels, x, losses, Tensor(), 1).ok());
  EXPECT_TRUE(Close(Values(losses), {18.420680743952367, 1.0000000050e-8, 15.000000305902274}, 0,
                    tolerance()));
}

TEST_P(SoftmaxTest, SameBitsOnAnyNumberOfThreads) {
  const Tensor x = RandomTensor(GetParam(), {2000, 10}, 1), labels = Labels(2000, 10);
  Doubles first_y, first_losses, first_dx;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor y = ZeroTensor(GetParam(), x.shape()), dx = ZeroTensor(GetParam(), x.shape());
    const Tensor losses = ZeroTensor(GetParam(), {2000});
    ASSERT_TRUE(CreateFused(2000, 10)->Run(x, labels, y, losses, dx, .01).ok());
    if (first_y.empty()) {
      first_y = Values(y);
      first_losses = Values(losses);
      first_dx = Values(dx);
    }
    EXPECT_EQ(Values(y), first_y);
    EXPECT_EQ(Values(losses), first_losses);
    EXPECT_EQ(Values(dx), first_dx);
  }
}

TEST_P(SoftmaxTest, RefusesOtherShapes) {
  const Tensor x = ZeroTensor(GetParam(), {2, 3}), losses = ZeroTensor(GetParam(), {2});
  EXPECT_EQ(Create(2, 4)->Forward(x, x).message(),
            "softmax: shape (2, 3), expected rows of 4 columns");
  EXPECT_FALSE(CreateFused(2, 3)->Run(x, Labels(3, 3), x, losses, Tensor(), 1).ok());
  EXPECT_FALSE(CreateSoftmax(*context_, {.rows = 1, .columns = 0}).ok());
  EXPECT_FALSE(
      CreateSoftmaxCrossEntropy(*context_, {.rows = 1, .columns = 2, .label_smoothing = 1}).ok());
}

INSTANTIATE_TEST_SUITE_P(, SoftmaxTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(SoftmaxReferenceTest, GradientsAreTheCentralDifferences) {
  const Doubles x = {.3, -1.2, .8, 0}, weights = {1, -2, .5, 3};
  const double h = 1e-5, scale = .25, smoothing = .1;
  Doubles y(4), dx(4), dx_loss(4), dx_smooth(4);
  reference::SoftmaxForward(x, y);
  reference::SoftmaxBackward(y, weights, dx, false);
  reference::CrossEntropyGradient(y, 2, scale, dx_loss);
  reference::CrossEntropyGradient(y, 2, scale, dx_smooth, smoothing);
  const auto objective = [&](const Doubles& at) {
    Doubles out(4);
    reference::SoftmaxForward(at, out);
    double sum = 0;
    for (size_t j = 0; j < 4; ++j) sum += weights[j] * out[j];
    return sum;
  };
  for (size_t j = 0; j < 4; ++j) {
    Doubles up = x, down = x;
    up[j] += h;
    down[j] -= h;
    EXPECT_NEAR(dx[j], (objective(up) - objective(down)) / (2 * h), 1e-9);
    const double loss = reference::CrossEntropy(up, 2) - reference::CrossEntropy(down, 2);
    EXPECT_NEAR(dx_loss[j], scale * loss / (2 * h), 1e-9);
    const double smooth =
        reference::CrossEntropy(up, 2, smoothing) - reference::CrossEntropy(down, 2, smoothing);
    EXPECT_NEAR(dx_smooth[j], scale * smooth / (2 * h), 1e-9);
  }
}

}  // namespace
}  // namespace dtnn
