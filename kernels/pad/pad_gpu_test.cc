#include <memory>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/pad/pad.h"
#include "kernels/pad/testing/specs.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::IntegerTensor;
using testing::Put;
using testing::Values;

class PadGpuTest : public ::testing::TestWithParam<std::tuple<PadMode, TensorFormat, DType>> {
 protected:
  // Images are the middle of wider ones. Small integers, whose sums are exact in any order.
  void ExpectSameAsCpu(DeviceContext& gpu) const {
    const auto& [mode, format, dtype] = GetParam();
    const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
    for (PadSpec spec : testing::SpecsOf(mode)) {
      SCOPED_TRACE(ToString(spec.image));
      spec.format = format, spec.dtype = dtype;
      const auto expected = *CreatePad(*cpu, spec), pad = *CreatePad(gpu, spec);
      const auto wide = [&](ImageExtents image, uint64_t seed) {
        image.channels += 3;
        return IntegerTensor(dtype, SampleShape(image, format).Prepend(2), seed);
      };
      const auto middle = [&](const Tensor& tensor) {
        return tensor.Channels(2, spec.image.channels, format);
      };
      const Tensor x = wide(spec.image, 1), y = wide(spec.output(), 2), dy = wide(spec.output(), 3),
                   dx = wide(spec.image, 4);
      const Tensor device_x = Put(gpu, x), device_y = Put(gpu, y), device_dy = Put(gpu, dy),
                   device_dx = Put(gpu, dx);
      ASSERT_EQ(expected->Forward(middle(x), middle(y)), absl::OkStatus());
      ASSERT_EQ(pad->Forward(middle(device_x), middle(device_y)), absl::OkStatus());
      EXPECT_EQ(Values(Get(gpu, device_y)), Values(y));
      for (const bool accumulate : {true, false}) {
        ASSERT_EQ(expected->Backward(middle(dy), middle(dx), accumulate), absl::OkStatus());
        ASSERT_EQ(pad->Backward(middle(device_dy), middle(device_dx), accumulate),
                  absl::OkStatus());
        EXPECT_EQ(Values(Get(gpu, device_dx)), Values(dx));
      }
    }
  }
};

TEST_P(PadGpuTest, SameAsCpuOnASimulatedGpu) {
  DTNN_GPU_OR_SKIP_AT(gpu, Device::Simulated(0));
  ExpectSameAsCpu(*gpu);
}
TEST_P(PadGpuTest, SameAsCpuOnCuda) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectSameAsCpu(*gpu);
}

INSTANTIATE_TEST_SUITE_P(
    , PadGpuTest,
    ::testing::Combine(::testing::Values(PadMode::kConstant, PadMode::kReflect, PadMode::kEdge),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16)));

}  // namespace
}  // namespace dtnn
