#include "gtest/gtest.h"
#include "kernels/channel_scale/channel_scale.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::IntegerTensor;
using testing::Put;

// Small integers: sums are exact, whatever their order. Images are the middle of wider ones.
void ExpectSameAsCpu(DeviceContext& context, ChannelScale& scale, const ChannelScaleSpec& spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto expected = *CreateChannelScale(*cpu, spec);
  for (const ImageExtents& image : {ImageExtents{1, 1, 1}, {3, 5, 4}, {9, 8, 33}}) {
    const auto shape = [&](int64_t height, int64_t width, int64_t channels) {
      return SampleShape({height, width, channels}, spec.format).Prepend(2);
    };
    const auto middle = [&](const Tensor& tensor) {
      return tensor.Channels(2, image.channels, spec.format);
    };
    const Shape wide = shape(image.height, image.width, image.channels + 5);
    const Tensor x = IntegerTensor(spec.dtype, wide, 1), y = IntegerTensor(spec.dtype, wide, 2),
                 s = IntegerTensor(spec.dtype, shape(1, 1, image.channels), 3),
                 ds = IntegerTensor(spec.dtype, shape(1, 1, image.channels + 5), 4);
    const Tensor device_x = Put(context, x), device_y = Put(context, y), device_s = Put(context, s),
                 device_ds = Put(context, ds);
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(expected->Reduce(middle(x), middle(y), middle(ds), accumulate), absl::OkStatus());
      ASSERT_EQ(scale.Reduce(middle(device_x), middle(device_y), middle(device_ds), accumulate),
                absl::OkStatus());
      EXPECT_TRUE(Close(Get(context, device_ds), ds, 0)) << ToString(image);
      ASSERT_EQ(expected->Multiply(middle(x), s, middle(y), accumulate), absl::OkStatus());
      ASSERT_EQ(scale.Multiply(middle(device_x), device_s, middle(device_y), accumulate),
                absl::OkStatus());
      EXPECT_TRUE(Close(Get(context, device_y), y, 0)) << ToString(image);
    }
  }
}

class ChannelScaleGpuTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType>> {
 protected:
  ChannelScaleSpec spec() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(ChannelScaleGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  ExpectSameAsCpu(*gpu, **CreateChannelScale(*gpu, spec()), spec());
}

TEST_P(ChannelScaleGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  const auto scale = CreateChannelScale(*gpu, spec());
  ASSERT_EQ(scale.status(), absl::OkStatus());
  ExpectSameAsCpu(*gpu, **scale, spec());
}

INSTANTIATE_TEST_SUITE_P(, ChannelScaleGpuTest,
                         ::testing::Combine(::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
