#include "gtest/gtest.h"
#include "kernels/bias/bias.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::OnesTensor;
using testing::Put;
using testing::Values;
using testing::ZeroTensor;

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
  const Tensor y = ZeroTensor(spec.dtype, shape);
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

// One operand has NaNs, the others are ones.
void ExpectNaNsComeOut(DeviceContext& context, Bias& bias, const BiasSpec& spec,
                       const Shape& shape) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<Bias> expected = *CreateBias(*cpu, spec);
  const Tensor nans = NaNTensor(spec.dtype, shape), ones = OnesTensor(spec.dtype, shape);
  const Shape channels = {spec.channels};
  const Tensor y = ZeroTensor(spec.dtype, shape), dbias = ZeroTensor(spec.dtype, channels);
  const Tensor device_y = Put(context, y), device_dbias = Put(context, dbias);
  for (const auto& [x, b] : {std::pair(nans, OnesTensor(spec.dtype, channels)),
                             {ones, NaNTensor(spec.dtype, channels)}}) {
    ASSERT_EQ(expected->Forward(x, b, y), absl::OkStatus());
    ASSERT_EQ(bias.Forward(Put(context, x), Put(context, b), device_y), absl::OkStatus());
    EXPECT_TRUE(KeepsNaN(Values(Get(context, device_y)), Values(y))) << shape.ToString();
  }
  ASSERT_EQ(expected->Backward(nans, dbias, false), absl::OkStatus());
  ASSERT_EQ(bias.Backward(Put(context, nans), device_dbias, false), absl::OkStatus());
  EXPECT_TRUE(KeepsNaN(Values(Get(context, device_dbias)), Values(dbias))) << shape.ToString();
}

void ExpectAll(DeviceContext& context, Bias& bias, const BiasSpec& spec, const Shape& shape) {
  ExpectSameAsCpu(context, bias, spec, shape);
  if (shape.NumElements() > 0) ExpectNaNsComeOut(context, bias, spec, shape);
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
    ExpectAll(*gpu, **CreateBias(*gpu, spec), spec, c.shape);
  }
}

// The memory for sums must do for vectors of 16 bytes, of which a row has fewer than of elements:
// rows are divided into more parts then. 1700 rows make more than one element each would.
TEST_P(BiasGpuTest, ManyRowsOfManyChannels) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  const BiasSpec spec = {1024, TensorFormat::kNHWC, GetParam()};
  const std::unique_ptr<Bias> bias = *CreateBias(*gpu, spec);
  const Tensor dbias = Put(*gpu, ZeroTensor(GetParam(), {1024}));
  ASSERT_EQ(bias->Backward(Put(*gpu, OnesTensor(GetParam(), {1700, 1024})), dbias, false),
            absl::OkStatus());
  EXPECT_EQ(Values(Get(*gpu, dbias)), std::vector<double>(1024, 1700));
}

// The memory for sums must do for a plane of 2^15 pixels, of which 2^24 images, the most that it is
// made for, have more vectors than 32 bits count.
TEST_P(BiasGpuTest, LargePlanes) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  const std::unique_ptr<Bias> bias = *CreateBias(*gpu, {3, TensorFormat::kNCHW, GetParam()});
  const Tensor dbias = Put(*gpu, ZeroTensor(GetParam(), {3}));
  ASSERT_EQ(bias->Backward(Put(*gpu, OnesTensor(GetParam(), {2, 3, 128, 256})), dbias, false),
            absl::OkStatus());
  EXPECT_EQ(Values(Get(*gpu, dbias)), std::vector<double>(3, 2 * 128 * 256));
}

TEST_P(BiasGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  for (const Case& c : kCases) {
    const BiasSpec spec = {c.channels, c.format, GetParam()};
    const auto bias = CreateBias(*gpu, spec);
    ASSERT_EQ(bias.status(), absl::OkStatus());
    ExpectAll(*gpu, **bias, spec, c.shape);
  }
}

INSTANTIATE_TEST_SUITE_P(, BiasGpuTest, ::testing::Values(DType::kFloat32, DType::kFloat64));

}  // namespace
}  // namespace dtnn
