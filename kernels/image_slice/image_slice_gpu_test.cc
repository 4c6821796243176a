#include <memory>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/image_slice/image_slice.h"
#include "kernels/image_slice/testing/specs.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::IntegerTensor;
using testing::Put;
using testing::Values;

class SliceGpuTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat, DType>> {};

// Images are the middle of wider ones. Small integers, whose sums are exact.
TEST_P(SliceGpuTest, SameAsCpu) {
  const auto& [device, format, dtype] = GetParam();
  DTNN_GPU_OR_SKIP_AT(gpu, device);
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  for (ImageSliceSpec spec : testing::ImageSliceSpecs()) {
    SCOPED_TRACE(ToString(spec.image));
    spec.format = format, spec.dtype = dtype;
    const auto expected = *CreateImageSlice(*cpu, spec), slice = *CreateImageSlice(*gpu, spec);
    const auto wide = [&](ImageExtents image, uint64_t seed) {
      image.channels += 3;
      return IntegerTensor(dtype, SampleShape(image, format).Prepend(2), seed);
    };
    const auto middle = [&](const Tensor& tensor) {
      return tensor.Channels(2, spec.image.channels, format);
    };
    const Tensor x = wide(spec.image, 1), y = wide(spec.output(), 2), dy = wide(spec.output(), 3),
                 dx = wide(spec.image, 4);
    const Tensor device_x = Put(*gpu, x), device_y = Put(*gpu, y), device_dy = Put(*gpu, dy),
                 device_dx = Put(*gpu, dx);
    ASSERT_EQ(expected->Forward(middle(x), middle(y)), absl::OkStatus());
    ASSERT_EQ(slice->Forward(middle(device_x), middle(device_y)), absl::OkStatus());
    EXPECT_EQ(Values(Get(*gpu, device_y)), Values(y));
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(expected->Backward(middle(dy), middle(dx), accumulate), absl::OkStatus());
      ASSERT_EQ(slice->Backward(middle(device_dy), middle(device_dx), accumulate),
                absl::OkStatus());
      EXPECT_EQ(Values(Get(*gpu, device_dx)), Values(dx));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , SliceGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16)));

}  // namespace
}  // namespace dtnn
