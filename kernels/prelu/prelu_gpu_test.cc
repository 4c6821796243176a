#include "gtest/gtest.h"
#include "kernels/prelu/prelu.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::IntegerTensor;
using testing::Put;

// Small integers: sums are exact, whatever their order. Images are the middle of wider ones where
// there is a slope for each channel.
void ExpectSameAsCpu(DeviceContext& context, TensorFormat format, DType dtype, bool one_slope) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  for (const ImageExtents& image : {ImageExtents{1, 1, 2}, {3, 5, 4}, {9, 8, 33}}) {
    const int64_t margin = one_slope ? 0 : 5;
    const Shape wide =
        SampleShape({image.height, image.width, image.channels + margin}, format).Prepend(2);
    const auto middle = [&](const Tensor& tensor) {
      return one_slope ? tensor : tensor.Channels(2, image.channels, format);
    };
    const PReluSpec spec = {one_slope ? 1 : image.channels, format, dtype};
    const auto expected = *CreatePRelu(*cpu, spec), prelu = *CreatePRelu(context, spec);
    const Tensor x = IntegerTensor(dtype, wide, 1), dy = IntegerTensor(dtype, wide, 2),
                 y = IntegerTensor(dtype, wide, 3), dx = IntegerTensor(dtype, wide, 4),
                 slopes = IntegerTensor(dtype, {spec.channels}, 5),
                 dslopes = IntegerTensor(dtype, {spec.channels}, 6);
    const Tensor device_x = Put(context, x), device_dy = Put(context, dy),
                 device_y = Put(context, y), device_dx = Put(context, dx),
                 device_slopes = Put(context, slopes), device_dslopes = Put(context, dslopes);
    ASSERT_EQ(expected->Forward(middle(x), slopes, middle(y)), absl::OkStatus());
    ASSERT_EQ(prelu->Forward(middle(device_x), device_slopes, middle(device_y)), absl::OkStatus());
    EXPECT_TRUE(Close(Get(context, device_y), y, 0)) << ToString(image);
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(expected->Backward(middle(x), slopes, middle(dy), middle(dx), accumulate),
                absl::OkStatus());
      ASSERT_EQ(prelu->Backward(middle(device_x), device_slopes, middle(device_dy),
                                middle(device_dx), accumulate),
                absl::OkStatus());
      EXPECT_TRUE(Close(Get(context, device_dx), dx, 0)) << ToString(image);
    }
    ASSERT_EQ(expected->SlopeGradient(middle(x), middle(dy), dslopes), absl::OkStatus());
    ASSERT_EQ(prelu->SlopeGradient(middle(device_x), middle(device_dy), device_dslopes),
              absl::OkStatus());
    EXPECT_TRUE(Close(Get(context, device_dslopes), dslopes, 0)) << ToString(image);
  }
}

class PReluGpuTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType, bool>> {
 protected:
  void Check(DeviceContext& gpu) const {
    const auto& [format, dtype, one_slope] = GetParam();
    ExpectSameAsCpu(gpu, format, dtype, one_slope);
  }
};

TEST_P(PReluGpuTest, SameAsCpuOnASimulatedGpu) {
  Check(**DeviceContext::Create(Device::Simulated(0)));
}

TEST_P(PReluGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  Check(*gpu);
}

INSTANTIATE_TEST_SUITE_P(
    , PReluGpuTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64), ::testing::Bool()));

}  // namespace
}  // namespace dtnn
