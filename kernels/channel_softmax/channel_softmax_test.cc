#include "kernels/channel_softmax/channel_softmax.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/softmax/reference.h"
#include "kernels/testing/gpu_testing.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::Pitched;
using testing::Put;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

constexpr int64_t kImages = 2, kHeight = 3, kWidth = 5;

Shape ImagesOf(int64_t channels, TensorFormat format) {
  return SampleShape({kHeight, kWidth, channels}, format).Prepend(kImages);
}

// The elements of pixel `pixel` of all, in the order of their channels.
std::vector<size_t> PixelOf(int64_t pixel, int64_t channels, TensorFormat format) {
  constexpr int64_t kPixels = kHeight * kWidth;
  const int64_t image = pixel / kPixels, place = pixel % kPixels;
  std::vector<size_t> elements;
  for (int64_t c = 0; c < channels; ++c) {
    elements.push_back(size_t(format == TensorFormat::kNHWC
                                  ? pixel * channels + c
                                  : (image * channels + c) * kPixels + place));
  }
  return elements;
}

Doubles Forward(const Doubles& x, int64_t channels, TensorFormat format) {
  Doubles y(x.size());
  for (int64_t pixel = 0; pixel < kImages * kHeight * kWidth; ++pixel) {
    Doubles from, to(static_cast<size_t>(channels));
    const std::vector<size_t> elements = PixelOf(pixel, channels, format);
    for (const size_t element : elements) from.push_back(x[element]);
    reference::SoftmaxForward(from, to);
    for (size_t c = 0; c < elements.size(); ++c) y[elements[c]] = to[c];
  }
  return y;
}

Doubles Backward(const Doubles& y, const Doubles& dy, Doubles dx, bool accumulate, int64_t channels,
                 TensorFormat format) {
  for (int64_t pixel = 0; pixel < kImages * kHeight * kWidth; ++pixel) {
    Doubles p, from, to;
    const std::vector<size_t> elements = PixelOf(pixel, channels, format);
    for (const size_t element : elements) {
      p.push_back(y[element]);
      from.push_back(dy[element]);
      to.push_back(dx[element]);
    }
    reference::SoftmaxBackward(p, from, to, accumulate);
    for (size_t c = 0; c < elements.size(); ++c) dx[elements[c]] = to[c];
  }
  return dx;
}

class ChannelSoftmaxTest
    : public ::testing::TestWithParam<std::tuple<int64_t, TensorFormat, DType>> {
 protected:
  Tensor Random(uint64_t seed) const { return RandomTensor(dtype_, shape_, seed); }

  const int64_t channels_ = std::get<0>(GetParam());
  const TensorFormat format_ = std::get<1>(GetParam());
  const DType dtype_ = std::get<2>(GetParam());
  const Shape shape_ = ImagesOf(channels_, format_);
  const double tolerance_ = dtype_ == DType::kFloat32 ? 1e-6 : 1e-14;
  const ChannelSoftmaxSpec spec_ = {.channels = channels_, .format = format_, .dtype = dtype_};
  const std::unique_ptr<DeviceContext> cpu_ = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<ChannelSoftmax> softmax_ = *CreateChannelSoftmax(*cpu_, spec_);

  void ExpectNear(const Doubles& values, const Doubles& expected) const {
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance_) << i;
  }

  void ExpectSameOn(DeviceContext& gpu) const {
    const std::unique_ptr<ChannelSoftmax> softmax = *CreateChannelSoftmax(gpu, spec_);
    const Tensor x = Random(1), dy = Random(2), dx = Random(3);
    const Tensor device_x = Put(gpu, x), device_dy = Put(gpu, dy), device_dx = Put(gpu, dx);
    ASSERT_EQ(softmax_->Forward(x, x), absl::OkStatus());
    ASSERT_EQ(softmax->Forward(device_x, device_x), absl::OkStatus());
    EXPECT_TRUE(Close(Get(gpu, device_x), x, tolerance_));
    ASSERT_EQ(softmax_->Backward(x, dy, dx, true), absl::OkStatus());
    ASSERT_EQ(softmax->Backward(device_x, device_dy, device_dx, true), absl::OkStatus());
    EXPECT_TRUE(Close(Get(gpu, device_dx), dx, tolerance_));
  }
};

TEST_P(ChannelSoftmaxTest, EqualsReferenceDensePitchedAndInPlace) {
  const Tensor x = Random(1), y = Random(2);
  const Doubles expected = Forward(Values(x), channels_, format_);
  ASSERT_EQ(softmax_->Forward(x, y), absl::OkStatus());
  ExpectNear(Values(y), expected);
  const Tensor pitched = Pitched(Random(3), format_);
  ASSERT_EQ(softmax_->Forward(Pitched(x, format_), pitched), absl::OkStatus());
  ExpectNear(Values(pitched, format_), expected);
  ASSERT_EQ(softmax_->Forward(x, x), absl::OkStatus());
  ExpectNear(Values(x), expected);
}

TEST_P(ChannelSoftmaxTest, GradientEqualsReferenceDensePitchedAndInPlace) {
  const Tensor y = Random(1), dy = Random(2);
  ASSERT_EQ(softmax_->Forward(y, y), absl::OkStatus());
  for (const bool accumulate : {false, true}) {
    const Tensor dx = Random(3), pitched = Pitched(dx, format_);
    const Doubles expected =
        Backward(Values(y), Values(dy), Values(dx), accumulate, channels_, format_);
    ASSERT_EQ(softmax_->Backward(y, dy, dx, accumulate), absl::OkStatus());
    ExpectNear(Values(dx), expected);
    ASSERT_EQ(softmax_->Backward(y, Pitched(dy, format_), pitched, accumulate), absl::OkStatus());
    ExpectNear(Values(pitched, format_), expected);
  }
  const Doubles expected = Backward(Values(y), Values(dy), Values(dy), false, channels_, format_);
  ASSERT_EQ(softmax_->Backward(y, dy, dy, false), absl::OkStatus());
  ExpectNear(Values(dy), expected);
}

TEST_P(ChannelSoftmaxTest, SameOnASimulatedGpu) {
  DTNN_GPU_OR_SKIP_AT(gpu, Device::Simulated(0));
  ExpectSameOn(*gpu);
}
TEST_P(ChannelSoftmaxTest, SameOnCuda) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectSameOn(*gpu);
}

// A group of channels is what it would be as an image of its own.
TEST_P(ChannelSoftmaxTest, GroupsAreSoftmaxesOfTheirOwn) {
  for (const int64_t groups : {2, 3}) {
    ChannelSoftmaxSpec spec = spec_;
    spec.channels *= groups, spec.groups = groups;
    const Shape shape = ImagesOf(spec.channels, format_);
    const Tensor x = RandomTensor(dtype_, shape, 1), y = RandomTensor(dtype_, shape, 2),
                 dy = RandomTensor(dtype_, shape, 3), dx = RandomTensor(dtype_, shape, 4);
    const Tensor before = testing::TensorOf(dtype_, shape, Values(dx));
    const auto softmax = *CreateChannelSoftmax(*cpu_, spec);
    ASSERT_EQ(softmax->Forward(x, y), absl::OkStatus());
    ASSERT_EQ(softmax->Backward(y, dy, dx, true), absl::OkStatus());
    const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
    const auto on_gpu = *CreateChannelSoftmax(*gpu, spec);
    const Tensor gpu_x = Put(*gpu, x), gpu_y = Put(*gpu, y), gpu_dx = Put(*gpu, before);
    ASSERT_EQ(on_gpu->Forward(gpu_x, gpu_x), absl::OkStatus());
    ASSERT_EQ(on_gpu->Backward(gpu_y, Put(*gpu, dy), gpu_dx, true), absl::OkStatus());
    EXPECT_TRUE(Close(Get(*gpu, gpu_x), y, tolerance_));
    EXPECT_TRUE(Close(Get(*gpu, gpu_dx), dx, tolerance_));
    for (int64_t group = 0; group < groups; ++group) {
      const auto part = [&](const Tensor& tensor) {
        return Values(tensor.Channels(group * channels_, channels_, format_), format_);
      };
      ExpectNear(part(y), Forward(part(x), channels_, format_));
      ExpectNear(part(dx), Backward(part(y), part(dy), part(before), true, channels_, format_));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ChannelSoftmaxTest,
                         ::testing::Combine(::testing::Values(1, 2, 21),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

// Computed in float32, and rounded once.
TEST(ChannelSoftmaxBfloat16Test, NarrowResultsAreRoundedOnce) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  constexpr DType kHalf = DType::kBfloat16, kWide = DType::kFloat32;
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape shape = ImagesOf(6, format);
    ChannelSoftmaxSpec spec = {.channels = 6, .format = format, .groups = 2};
    const auto wide = *CreateChannelSoftmax(*cpu, spec);
    spec.dtype = kHalf, spec.narrow_result = true;
    const auto half = *CreateChannelSoftmax(*cpu, spec);
    const auto rounded = [](Doubles values) {
      for (double& value : values) value = double(Bfloat16(float(value)));
      return values;
    };
    const Tensor x = RandomTensor(kHalf, shape, 1), y = RandomTensor(kHalf, shape, 2),
                 dy = RandomTensor(kHalf, shape, 3), dx = RandomTensor(kHalf, shape, 4);
    const auto widened = [&](const Tensor& from) {
      return testing::TensorOf(kWide, shape, Values(from));
    };
    const Tensor wide_x = widened(x), wide_dx = widened(dx);
    ASSERT_EQ(half->Forward(x, y), absl::OkStatus());
    ASSERT_EQ(half->Backward(y, dy, dx, true), absl::OkStatus());
    ASSERT_EQ(wide->Backward(widened(y), widened(dy), wide_dx, true), absl::OkStatus());
    ASSERT_EQ(wide->Forward(wide_x, wide_x), absl::OkStatus());
    EXPECT_EQ(Values(y), rounded(Values(wide_x)));
    EXPECT_EQ(Values(dx), rounded(Values(wide_dx)));
    ASSERT_EQ(half->Forward(x, x), absl::OkStatus());
    EXPECT_EQ(Values(x), Values(y));
  }
}

// Blocks of pixels, the last of them smaller, and channels of which a core's caches keep few.
TEST(ChannelSoftmaxPlanesTest, AreWhatPixelsAre) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  struct Case {
    int64_t height, width, channels, groups;
  };
  for (const auto& [height, width, channels, groups] :
       {Case{23, 47, 6, 2}, Case{1, 3, 8, 2}, Case{9, 31, 300, 1}, Case{3, 29, 1500, 3},
        Case{2, 33, 5000, 1}}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
      ChannelSoftmaxSpec spec = {
          .channels = channels, .dtype = dtype, .groups = groups, .narrow_result = true};
      const Shape shape = Shape{2, height, width, channels}, planes = {2, channels, height, width};
      const auto turned = [&](const Tensor& pixels) {
        const Doubles from = Values(pixels);
        Doubles to(from.size());
        for (size_t i = 0; i < from.size(); ++i) {
          const size_t c = i % size_t(channels), rest = i / size_t(channels),
                       area = size_t(height * width);
          to[(rest / area * size_t(channels) + c) * area + rest % area] = from[i];
        }
        return testing::TensorOf(dtype, planes, to);
      };
      const Tensor x = RandomTensor(dtype, shape, 1), dy = RandomTensor(dtype, shape, 2),
                   dx = RandomTensor(dtype, shape, 3), in = turned(x), gradient = turned(dy),
                   out = turned(dx);
      const auto of_pixels = *CreateChannelSoftmax(*cpu, spec);
      spec.format = TensorFormat::kNCHW;
      const auto of_planes = *CreateChannelSoftmax(*cpu, spec);
      ASSERT_EQ(of_pixels->Forward(x, x), absl::OkStatus());
      ASSERT_EQ(of_planes->Forward(in, in), absl::OkStatus());
      const double tolerance = dtype == DType::kFloat32   ? 1e-6
                               : dtype == DType::kFloat64 ? 1e-14
                                                          : 4e-3;
      EXPECT_TRUE(Close(in, turned(x), tolerance));
      ASSERT_EQ(of_pixels->Backward(x, dy, dx, true), absl::OkStatus());
      ASSERT_EQ(of_planes->Backward(in, gradient, out, true), absl::OkStatus());
      EXPECT_TRUE(Close(out, turned(dx), 4 * tolerance));
    }
  }
}

TEST(ChannelSoftmaxPlanesTest, LogitsMayBeFarApartAndInfinitelyLow) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto softmax = *CreateChannelSoftmax(*cpu, {.channels = 3, .format = TensorFormat::kNCHW});
  Doubles values(3 * 20, 200);
  for (size_t i = 0; i < 20; ++i) {
    values[i] = -std::numeric_limits<double>::infinity();
    values[20 + i] = i % 2 == 0 ? 200 : -3e38;
  }
  const Tensor x = testing::TensorOf(DType::kFloat32, {1, 3, 4, 5}, values);
  ASSERT_EQ(softmax->Forward(x, x), absl::OkStatus());
  const Doubles y = Values(x);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(y[i], 0);
    EXPECT_EQ(y[20 + i], i % 2 == 0 ? 0.5 : 0);
    EXPECT_EQ(y[40 + i], i % 2 == 0 ? 0.5 : 1);
  }
}

TEST(ChannelSoftmaxPlanesTest, NaNIsOfItsPixelAlone) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto softmax = *CreateChannelSoftmax(*cpu, {.channels = 3, .format = TensorFormat::kNCHW});
  for (const size_t channel : {0, 1, 2}) {
    Doubles values(60, 0.5);
    values[channel * 20 + 7] = std::numeric_limits<double>::quiet_NaN();
    const Tensor x = testing::TensorOf(DType::kFloat32, {1, 3, 4, 5}, values);
    ASSERT_EQ(softmax->Forward(x, x), absl::OkStatus());
    const Doubles y = Values(x);
    for (size_t i = 0; i < 60; ++i) EXPECT_EQ(std::isnan(y[i]), i % 20 == 7) << i;
  }
}

TEST(ChannelSoftmaxThreadsTest, SameOnAnyNumber) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const auto softmax = *CreateChannelSoftmax(*cpu, {.channels = 7, .format = format});
    const Tensor x = RandomTensor(DType::kFloat32, SampleShape({40, 40, 7}, format).Prepend(2), 1);
    Doubles first;
    for (const int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      const Tensor y = ZeroTensor(DType::kFloat32, x.shape());
      ASSERT_EQ(softmax->Forward(x, y), absl::OkStatus());
      if (first.empty()) first = Values(y);
      EXPECT_EQ(Values(y), first);
    }
  }
  SetNumThreads(2);
}

TEST(ChannelSoftmaxSpecTest, SaysWhatDoesNotFit) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(CreateChannelSoftmax(*cpu, {}).status().message(),
            "channel softmax: 0 channels, expected at least one");
  EXPECT_EQ(CreateChannelSoftmax(*cpu, {.channels = 5, .groups = 2}).status().message(),
            "channel softmax: 5 channels in 2 groups, expected groups of as many channels each");
  EXPECT_FALSE(CreateChannelSoftmax(*cpu, {.channels = 5, .groups = 0}).ok());
  const auto softmax = *CreateChannelSoftmax(*cpu, {.channels = 3});
  const Tensor four = ZeroTensor(DType::kFloat32, {1, 2, 2, 4});
  EXPECT_EQ(softmax->Forward(four, four).message(),
            "channel softmax: shape (1, 2, 2, 4), expected images of 3 channels");
}

}  // namespace
}  // namespace dtnn
