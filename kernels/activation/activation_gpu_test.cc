#include <limits>

#include "gtest/gtest.h"
#include "kernels/activation/activation.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;

// Runs `activation` on the context's memory and the CPU's primitive on the same inputs.
void ExpectSameAsCpu(DeviceContext& context, Activation& activation, const ActivationSpec& spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<Activation> expected = *CreateActivation(*cpu, spec);
  const double epsilon = spec.dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                                       : std::numeric_limits<double>::epsilon();
  for (const Shape& shape : {Shape{2, 3, 5, 4}, Shape{1, 1, 1, 1}, Shape{3, 33, 1, 17}}) {
    // Pitched: the middle of wider tensors.
    const bool nhwc = spec.format == TensorFormat::kNHWC;
    const Shape wide = nhwc ? Shape{shape[0], shape[1], shape[2], shape[3] + 5}
                            : Shape{shape[0], shape[1] + 5, shape[2], shape[3]};
    const auto middle = [&](const Tensor& tensor) {
      return tensor.Channels(2, shape[nhwc ? 3 : 1], spec.format);
    };
    const Tensor x = testing::RandomTensor(spec.dtype, wide, 1);
    const Tensor dy = testing::RandomTensor(spec.dtype, shape, 2);  // dense beside pitched ones
    const Tensor y = testing::ZeroTensor(spec.dtype, wide);
    const Tensor dx = testing::RandomTensor(spec.dtype, shape, 3);
    const Tensor device_x = Put(context, x), device_dy = Put(context, dy);
    const Tensor device_y = Put(context, y), device_dx = Put(context, dx);

    ASSERT_EQ(expected->Forward(middle(x), middle(y)), absl::OkStatus());
    ASSERT_EQ(activation.Forward(middle(device_x), middle(device_y)), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Get(context, device_y), y, 0, 8 * epsilon));
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(expected->Backward(middle(y), dy, dx, accumulate), absl::OkStatus());
      ASSERT_EQ(activation.Backward(middle(device_y), device_dy, device_dx, accumulate),
                absl::OkStatus());
      EXPECT_TRUE(testing::Close(Get(context, device_dx), dx, 16 * epsilon, 16 * epsilon));
    }
  }
}

class ActivationGpuTest
    : public ::testing::TestWithParam<std::tuple<ActivationKind, TensorFormat, DType>> {
 protected:
  ActivationSpec spec() const {
    return {std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam())};
  }
};

TEST_P(ActivationGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  ExpectSameAsCpu(*gpu, **CreateActivation(*gpu, spec()), spec());
}

TEST_P(ActivationGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  const auto activation = CreateActivation(*gpu, spec());
  ASSERT_EQ(activation.status(), absl::OkStatus());
  ExpectSameAsCpu(*gpu, **activation, spec());
}

TEST(ActivationNumbersGpuTest, SameAsCpu) {
  const std::pair<ActivationKind, ActivationNumbers> functions[] = {
      {ActivationKind::kLeakyRelu, {.slope = 0.3}},
      {ActivationKind::kElu, {.alpha = 0.7}},
      {ActivationKind::kClip, {.low = -0.1, .high = 0.3}}};
  for (const auto& [kind, numbers] : functions) {
    const ActivationSpec spec = {.kind = kind, .numbers = numbers};
    const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
    ExpectSameAsCpu(*gpu, **CreateActivation(*gpu, spec), spec);
  }
  DTNN_GPU_OR_SKIP(gpu);
  for (const auto& [kind, numbers] : functions) {
    const ActivationSpec spec = {.kind = kind, .numbers = numbers};
    ExpectSameAsCpu(*gpu, **CreateActivation(*gpu, spec), spec);
  }
}

INSTANTIATE_TEST_SUITE_P(, ActivationGpuTest,
                         ::testing::Combine(::testing::ValuesIn(kActivationKinds),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
