#include "kernels/image_slice/image_slice.h"

#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/image_slice/reference.h"
#include "kernels/image_slice/testing/specs.h"
#include "kernels/testing/channels_last.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::ChannelsLast;
using testing::ImagesOf;
using testing::IntegerImages;
using testing::KeepsNaN;
using testing::Pitched;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

constexpr int64_t kBatch = 2;

class SliceTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType>> {
 protected:
  Tensor Make(const ImageExtents& image, const Doubles& values) const {
    return ImagesOf(dtype_, image, kBatch, format_, values);
  }
  Doubles Back(const ImageExtents& image, const Tensor& tensor) const {
    return ChannelsLast(tensor, image, format_);
  }

  const TensorFormat format_ = std::get<0>(GetParam());
  const DType dtype_ = std::get<1>(GetParam());
  const std::unique_ptr<DeviceContext> cpu_ = *DeviceContext::Create(Device::Cpu());
};

// Small integers: sums are exact in any type.
TEST_P(SliceTest, EqualsItsReferenceDenseAndPitched) {
  for (ImageSliceSpec spec : testing::ImageSliceSpecs()) {
    SCOPED_TRACE(ToString(spec.image));
    spec.format = format_, spec.dtype = dtype_;
    const ImageExtents sliced = spec.output();
    const Doubles x = IntegerImages(spec.image, kBatch, 1), dy = IntegerImages(sliced, kBatch, 2),
                  before = IntegerImages(spec.image, kBatch, 3);
    Doubles y(dy.size()), dx = before, gradient(before.size());
    reference::ForEachSliced(spec, kBatch, [&](size_t from, size_t to) {
      y[to] = x[from];
      dx[from] += dy[to];
      gradient[from] = dy[to];
    });
    for (const auto& [read_pitched, written_pitched] :
         {std::pair(false, false), std::pair(true, true), std::pair(true, false),
          std::pair(false, true)}) {
      const auto as = [&](const Tensor& dense, bool pitched) {
        return pitched ? Pitched(dense, format_) : dense;
      };
      const auto slice = *CreateImageSlice(*cpu_, spec);
      const Tensor to_y = as(Make(sliced, dy), written_pitched),
                   to_dx = as(Make(spec.image, before), written_pitched),
                   from_dy = as(Make(sliced, dy), read_pitched);
      ASSERT_EQ(slice->Forward(as(Make(spec.image, x), read_pitched), to_y), absl::OkStatus());
      EXPECT_EQ(Back(sliced, to_y), y);
      ASSERT_EQ(slice->Backward(from_dy, to_dx, /*accumulate=*/true), absl::OkStatus());
      EXPECT_EQ(Back(spec.image, to_dx), dx);
      ASSERT_EQ(slice->Backward(from_dy, to_dx, /*accumulate=*/false), absl::OkStatus());
      EXPECT_EQ(Back(spec.image, to_dx), gradient);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , SliceTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16)));

// x[1::2, :3:2] of NumPy.
TEST(SliceAnswersTest, AreThoseOfNumPy) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const ImageSliceSpec spec = {.image = {4, 4, 1}, .begin = {1, 0}, .count = {2, 2}, .step = 2};
  Doubles counted(16);
  for (size_t i = 0; i < counted.size(); ++i) counted[i] = double(i);
  const Tensor y = ZeroTensor(DType::kFloat32, {1, 2, 2, 1});
  ASSERT_EQ(
      (*CreateImageSlice(*cpu, spec))->Forward(TensorOf(DType::kFloat32, {1, 4, 4, 1}, counted), y),
      absl::OkStatus());
  EXPECT_EQ(Values(y), (Doubles{4, 6, 12, 14}));
}

TEST(SliceNaNTest, NaNStaysWhereItIs) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const ImageSliceSpec spec = {
      .image = {1, 5, 1}, .begin = {0, 1}, .count = {1, 2}, .step = {1, 2}};
  const auto slice = *CreateImageSlice(*cpu, spec);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = TensorOf(DType::kFloat32, {1, 1, 5, 1}, {nan, nan, nan, 3, nan}),
               y = ZeroTensor(DType::kFloat32, {1, 1, 2, 1});
  ASSERT_EQ(slice->Forward(x, y), absl::OkStatus());
  EXPECT_TRUE(KeepsNaN(Values(y), {nan, 3}));
  EXPECT_EQ(Values(y)[1], 3);
  // The gradient of pixels that are not taken is 0, whatever was in its memory.
  ASSERT_EQ(slice->Backward(TensorOf(DType::kFloat32, {1, 1, 2, 1}, {1, 2}), x, false),
            absl::OkStatus());
  EXPECT_EQ(Values(x), (Doubles{0, 1, 0, 2, 0}));
}

TEST(SliceThreadsTest, SameOnAnyNumber) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const ImageSliceSpec spec = {
      .image = {70, 60, 7}, .begin = {1, 0}, .count = {23, 30}, .step = {3, 2}};
  const auto slice = *CreateImageSlice(*cpu, spec);
  const Tensor dy = RandomTensor(DType::kFloat32, {2, 23, 30, 7}, 1),
               x = RandomTensor(DType::kFloat32, {2, 70, 60, 7}, 2);
  Doubles first, first_gradient;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor y = ZeroTensor(DType::kFloat32, dy.shape()),
                 dx = ZeroTensor(DType::kFloat32, x.shape());
    ASSERT_EQ(slice->Forward(x, y), absl::OkStatus());
    ASSERT_EQ(slice->Backward(dy, dx, false), absl::OkStatus());
    if (first.empty()) first = Values(y), first_gradient = Values(dx);
    EXPECT_EQ(Values(y), first);
    EXPECT_EQ(Values(dx), first_gradient);
  }
  SetNumThreads(2);
}

TEST(SliceSpecTest, SaysWhatDoesNotFit) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto error = [&](const ImageSliceSpec& spec) {
    return std::string(CreateImageSlice(*cpu, spec).status().message());
  };
  const ImageExtents image = {4, 5, 2};
  EXPECT_EQ(error({.image = {0, 1, 1}}), "slice: an image of 0x1x1, expected elements");
  EXPECT_EQ(error({.image = image, .step = {0, 1}}),
            "slice: a step of 0 rows, expected at least 1");
  EXPECT_EQ(error({.image = image, .step = {1, -2}}),
            "slice: a step of -2 columns, expected at least 1");
  EXPECT_EQ(error({.image = image, .begin = {-1, 0}}),
            "slice: 1 rows from number -1 on in steps of 1 are not in an image of 4");
  EXPECT_EQ(error({.image = image, .begin = {0, 5}}),
            "slice: 1 columns from number 5 on in steps of 1 are not in an image of 5");
  EXPECT_EQ(error({.image = image, .count = {0, 1}}),
            "slice: 0 rows from number 0 on in steps of 1 are not in an image of 4");
  EXPECT_EQ(error({.image = image, .begin = {0, 1}, .count = {1, 3}, .step = {1, 2}}),
            "slice: 3 columns from number 1 on in steps of 2 are not in an image of 5");
  EXPECT_EQ(error({.image = image, .count = {INT64_MAX, 1}, .step = {INT64_MAX, 1}}),
            "slice: 9223372036854775807 rows from number 0 on in steps of 9223372036854775807 are "
            "not in an image of 4");
  EXPECT_EQ(error({.image = image, .begin = {0, 0}, .count = {2, 3}, .step = {3, 2}}), "");
  const auto slice = *CreateImageSlice(*cpu, {.image = image, .count = {2, 3}});
  const Tensor x = ZeroTensor(DType::kFloat32, {1, 4, 5, 2});
  EXPECT_EQ(std::string(slice->Forward(x, x).message()),
            "slice: the slice has shape (1, 4, 5, 2) of float32 on cpu; expected (1, 2, 3, 2) of "
            "float32 on cpu");
}

}  // namespace
}  // namespace dtnn
