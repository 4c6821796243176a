#include "gtest/gtest.h"
#include "kernels/bias/bias.h"
#include "kernels/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::IntegerTensor;
using testing::Put;

// Small integers: sums are exact, whatever their order.
void ExpectSameAsCpu(DeviceContext& context, Bias& bias, const BiasSpec& spec, const Shape& shape) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<Bias> expected = *CreateBias(*cpu, spec);
  const int axis = shape.rank() == 4 && spec.format == TensorFormat::kNCHW ? 1 : shape.rank() - 1;
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[size_t(axis)] += 3;
  const Shape wide = *Shape::Make(extents);
  const auto middle = [&](const Tensor& tensor) {
    return tensor.Channels(1, spec.channels, spec.format);
  };
  const Tensor x = IntegerTensor(spec.dtype, wide, 1),
               b = IntegerTensor(spec.dtype, {spec.channels}, 2);
  const Tensor y = testing::ZeroTensor(spec.dtype, shape);
  const Tensor device_x = Put(context, x), device_b = Put(context, b), device_y = Put(context, y);

  ASSERT_EQ(expected->Forward(middle(x), b, y), absl::OkStatus());
  ASSERT_EQ(bias.Forward(middle(device_x), device_b, device_y), absl::OkStatus());
  EXPECT_TRUE(testing::Close(Get(context, device_y), y, 0)) << shape.ToString();
  for (const bool accumulate : {true, false}) {
    ASSERT_EQ(expected->Backward(middle(x), b, accumulate), absl::OkStatus());
    ASSERT_EQ(bias.Backward(middle(device_x), device_b, accumulate), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Get(context, device_b), b, 0)) << shape.ToString();
    ASSERT_EQ(expected->Backward(y, b, accumulate), absl::OkStatus());
    ASSERT_EQ(bias.Backward(device_y, device_b, accumulate), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Get(context, device_b), b, 0)) << shape.ToString();
  }
}

struct Case {
  TensorFormat format;
  Shape shape;
  int64_t channels;
};
const Case kCases[] = {
    {TensorFormat::kNHWC, {5, 7}, 7},          {TensorFormat::kNHWC, {1, 1}, 1},
    {TensorFormat::kNHWC, {4097, 3}, 3},       {TensorFormat::kNHWC, {3, 1000}, 1000},
    {TensorFormat::kNHWC, {2, 9, 33, 5}, 5},   {TensorFormat::kNCHW, {2, 5, 9, 33}, 5},
    {TensorFormat::kNCHW, {33, 3, 17, 16}, 3}, {TensorFormat::kNCHW, {4, 6, 1, 1}, 6},
    {TensorFormat::kNCHW, {6, 4}, 4},          {TensorFormat::kNHWC, {0, 4}, 4},
};

class BiasGpuTest : public ::testing::TestWithParam<DType> {};

TEST_P(BiasGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  for (const Case& c : kCases) {
    const BiasSpec spec = {c.channels, c.format, GetParam()};
    ExpectSameAsCpu(*gpu, **CreateBias(*gpu, spec), spec, c.shape);
  }
}

TEST_P(BiasGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  for (const Case& c : kCases) {
    const BiasSpec spec = {c.channels, c.format, GetParam()};
    const auto bias = CreateBias(*gpu, spec);
    ASSERT_EQ(bias.status(), absl::OkStatus());
    ExpectSameAsCpu(*gpu, **bias, spec, c.shape);
  }
}

INSTANTIATE_TEST_SUITE_P(, BiasGpuTest, ::testing::Values(DType::kFloat32, DType::kFloat64));

}  // namespace
}  // namespace dtnn
