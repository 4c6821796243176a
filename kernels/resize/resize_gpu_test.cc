#include <memory>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/resize/resize.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::Put;
using testing::RandomTensor;

class ResizeGpuTest
    : public ::testing::TestWithParam<std::tuple<TensorFormat, DType, ResizeMode, bool>> {
 protected:
  // Images are the middle of wider ones.
  void ExpectSameAsCpu(DeviceContext& gpu) const {
    const auto& [format, dtype, mode, align_corners] = GetParam();
    const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
    for (const auto& [in, out] :
         {std::pair(Shape{3, 4}, Shape{6, 8}), std::pair(Shape{5, 3}, Shape{2, 9}),
          std::pair(Shape{1, 1}, Shape{3, 2})}) {
      ResizeSpec spec = {.batch = 2,
                         .height = in[0],
                         .width = in[1],
                         .channels = 5,
                         .out_height = out[0],
                         .out_width = out[1],
                         .mode = mode,
                         .align_corners = align_corners && mode == ResizeMode::kLinear,
                         .format = format,
                         .dtype = dtype};
      const auto expected = *CreateResize(*cpu, spec), resize = *CreateResize(gpu, spec);
      const auto wide = [&](const Shape& image, uint64_t seed) {
        return RandomTensor(dtype, SampleShape({image[0], image[1], 8}, format).Prepend(2), seed);
      };
      const auto middle = [&](const Tensor& tensor) { return tensor.Channels(2, 5, format); };
      const Tensor x = wide(in, 1), y = wide(out, 2), dy = wide(out, 3), dx = wide(in, 4);
      const Tensor device_x = Put(gpu, x), device_y = Put(gpu, y), device_dy = Put(gpu, dy),
                   device_dx = Put(gpu, dx);
      ASSERT_EQ(expected->Forward(middle(x), middle(y)), absl::OkStatus());
      ASSERT_EQ(resize->Forward(middle(device_x), middle(device_y)), absl::OkStatus());
      EXPECT_TRUE(Close(Get(gpu, device_y), y, 1e-5)) << out.ToString();
      for (const bool accumulate : {true, false}) {
        ASSERT_EQ(expected->Backward(middle(dy), middle(dx), accumulate), absl::OkStatus());
        ASSERT_EQ(resize->Backward(middle(device_dy), middle(device_dx), accumulate),
                  absl::OkStatus());
        EXPECT_TRUE(Close(Get(gpu, device_dx), dx, 1e-5)) << out.ToString();
      }
    }
  }
};

TEST_P(ResizeGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  ExpectSameAsCpu(*gpu);
}

TEST_P(ResizeGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectSameAsCpu(*gpu);
}

INSTANTIATE_TEST_SUITE_P(
    , ResizeGpuTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64),
                       ::testing::Values(ResizeMode::kNearest, ResizeMode::kLinear),
                       ::testing::Bool()));

}  // namespace
}  // namespace dtnn
