#include "kernels/resize/resize.h"

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/resize/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

ResizeSpec Spec(Shape nhwc, int64_t out_height, int64_t out_width) {
  return {.batch = nhwc[0],
          .height = nhwc[1],
          .width = nhwc[2],
          .channels = nhwc[3],
          .out_height = out_height,
          .out_width = out_width};
}

const ResizeSpec kSpecs[] = {
    Spec({1, 1, 1, 1}, 1, 1),
    Spec({2, 1, 1, 5}, 3, 2),
    Spec({2, 3, 2, 17}, 6, 4),
    Spec({1, 4, 5, 16}, 12, 5),
    Spec({2, 5, 3, 33}, 7, 11),
    Spec({1, 7, 8, 3}, 3, 5),
    Spec({1, 9, 9, 1}, 3, 3),
    Spec({1, 2, 40, 1}, 2, 33),
    // Strips of columns, more rows than a strip keeps, and more taps than a table has.
    Spec({1, 4, 300, 2}, 8, 600),
    Spec({1, 3, 70, 1}, 33, 350),
    Spec({1, 20, 530, 1}, 7, 265),
};

struct Mode {
  ResizeMode mode;
  bool align_corners;
};

class ResizeTest
    : public ::testing::TestWithParam<std::tuple<ResizeSpec, Mode, TensorFormat, DType>> {
 protected:
  ResizeTest() {
    spec_ = std::get<0>(GetParam());
    spec_.mode = std::get<1>(GetParam()).mode;
    spec_.align_corners = std::get<1>(GetParam()).align_corners;
    spec_.format = std::get<2>(GetParam());
    spec_.dtype = std::get<3>(GetParam());
    auto resize = CreateResize(*context_, spec_);
    EXPECT_TRUE(resize.ok()) << resize.status();
    resize_ = *std::move(resize);
  }
  Tensor Random(const Shape& shape, uint64_t seed) const {
    return RandomTensor(spec_.dtype, shape, seed);
  }
  // Factors and sums of a few are rounded.
  double Tolerance() const {
    return 64 * (spec_.dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                                : std::numeric_limits<double>::epsilon());
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
  ResizeSpec spec_;
  std::unique_ptr<Resize> resize_;
};

TEST_P(ResizeTest, ForwardEqualsReferenceDenseAndPitched) {
  const Tensor x = Random(spec_.InputShape(), 1), y = Random(spec_.OutputShape(), 2);
  const Doubles expected = reference::ResizeForward(spec_, Values(x));
  ASSERT_EQ(resize_->Forward(x, y), absl::OkStatus());
  EXPECT_TRUE(Close(Values(y), expected, Tolerance(), Tolerance()));
  const Tensor pitched = Pitched(Random(spec_.OutputShape(), 2), spec_.format);
  ASSERT_EQ(resize_->Forward(Pitched(x, spec_.format), pitched), absl::OkStatus());
  EXPECT_EQ(Values(pitched, spec_.format), Values(y));
}

TEST_P(ResizeTest, BackwardEqualsReferenceDenseAndPitched) {
  const Tensor dy = Random(spec_.OutputShape(), 2);
  const Doubles gradient = reference::ResizeBackward(spec_, Values(dy));
  for (const bool accumulate : {false, true}) {
    const Tensor dx = Random(spec_.InputShape(), 3);
    const Tensor pitched = Pitched(dx, spec_.format);
    Doubles expected = gradient;
    const Doubles before = Values(dx);
    for (size_t i = 0; i < before.size() && accumulate; ++i) expected[i] += before[i];
    ASSERT_EQ(resize_->Backward(dy, dx, accumulate), absl::OkStatus());
    EXPECT_TRUE(Close(Values(dx), expected, Tolerance(), Tolerance()));
    ASSERT_EQ(resize_->Backward(Pitched(dy, spec_.format), pitched, accumulate), absl::OkStatus());
    EXPECT_EQ(Values(pitched, spec_.format), Values(dx));
  }
}

TEST_P(ResizeTest, NaNComesOutForwardAndBackward) {
  const Tensor x = NaNTensor(spec_.dtype, spec_.InputShape()),
               y = ZeroTensor(spec_.dtype, spec_.OutputShape());
  ASSERT_EQ(resize_->Forward(x, y), absl::OkStatus());
  EXPECT_TRUE(KeepsNaN(Values(y), reference::ResizeForward(spec_, Values(x))));
  const Tensor dy = NaNTensor(spec_.dtype, spec_.OutputShape()),
               dx = ZeroTensor(spec_.dtype, spec_.InputShape());
  ASSERT_EQ(resize_->Backward(dy, dx, false), absl::OkStatus());
  EXPECT_TRUE(KeepsNaN(Values(dx), reference::ResizeBackward(spec_, Values(dy))));
}

TEST_P(ResizeTest, FewerImagesAndAnyNumberOfThreads) {
  const Tensor x = Random(spec_.InputShape(), 1), y = Random(spec_.OutputShape(), 2);
  ASSERT_EQ(resize_->Forward(x, y), absl::OkStatus());
  const Doubles expected = Values(y);
  for (const int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    ASSERT_EQ(resize_->Forward(x, y), absl::OkStatus());
    EXPECT_EQ(Values(y), expected);
  }
  SetNumThreads(2);
  const Tensor one = Random(spec_.OutputShape().DropFirst().Prepend(1), 4);
  ASSERT_EQ(resize_->Forward(Random(spec_.InputShape().DropFirst().Prepend(1), 1), one),
            absl::OkStatus());
  EXPECT_EQ(Values(one), Doubles(expected.begin(), expected.begin() + one.num_elements()));
}

INSTANTIATE_TEST_SUITE_P(, ResizeTest,
                         ::testing::Combine(::testing::ValuesIn(kSpecs),
                                            ::testing::Values(Mode{ResizeMode::kNearest, false},
                                                              Mode{ResizeMode::kLinear, false},
                                                              Mode{ResizeMode::kLinear, true}),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

// Answers of torch.nn.functional.interpolate (PyTorch 2.15).
TEST(ResizeAnswersTest, AreThoseOfPyTorch) {
  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  const auto answer = [&](ResizeMode mode, bool align_corners, const Doubles& x, int64_t out) {
    ResizeSpec spec = Spec({1, 1, int64_t(x.size()), 1}, 1, out);
    spec.mode = mode;
    spec.align_corners = align_corners;
    spec.dtype = DType::kFloat64;
    const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
    EXPECT_EQ(
        (*CreateResize(*context, spec))->Forward(TensorOf(spec.dtype, spec.InputShape(), x), y),
        absl::OkStatus());
    return Values(y);
  };
  const Doubles x = {1, 2, 4};
  EXPECT_EQ(answer(ResizeMode::kNearest, false, x, 6), (Doubles{1, 1, 2, 2, 4, 4}));
  EXPECT_EQ(answer(ResizeMode::kNearest, false, x, 5), (Doubles{1, 1, 2, 2, 4}));
  EXPECT_EQ(answer(ResizeMode::kNearest, false, x, 2), (Doubles{1, 2}));
  EXPECT_EQ(answer(ResizeMode::kLinear, false, x, 6), (Doubles{1, 1.25, 1.75, 2.5, 3.5, 4}));
  EXPECT_EQ(answer(ResizeMode::kLinear, true, x, 5), (Doubles{1, 1.5, 2, 3, 4}));
  EXPECT_EQ(answer(ResizeMode::kLinear, false, {1, 3, 5, 9}, 2), (Doubles{2, 7}));
}

TEST(ResizeSpecTest, SaysWhichFieldIsWrong) {
  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  const auto refusal = [&](const ResizeSpec& spec) {
    return std::string(CreateResize(*context, spec).status().message());
  };
  ResizeSpec spec = Spec({1, 2, 2, 1}, 4, 4);
  EXPECT_EQ(refusal(spec), "");
  spec.out_width = 0;
  EXPECT_EQ(refusal(spec), "resize: output width is 0, expected 1 to 16777216");
  spec.out_width = 16777217;
  EXPECT_EQ(refusal(spec), "resize: output width is 16777217, expected 1 to 16777216");
  spec.out_width = 4;
  spec.align_corners = true;
  EXPECT_EQ(refusal(spec),
            "resize: nearest neighbours have no corners to align; that is for linear "
            "interpolation");
}

}  // namespace
}  // namespace dtnn
