#include <limits>

#include "gtest/gtest.h"
#include "kernels/softmax/softmax.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::IntegerTensor;
using testing::Put;
using testing::RandomTensor;
using testing::ZeroTensor;

constexpr int64_t kRows = 5;
// Around the number of lanes of a warp, and the usual numbers of classes.
constexpr int64_t kColumns[] = {1, 2, 3, 10, 31, 32, 33, 64, 65, 100, 1000};

double Epsilon(DType dtype) {
  if (dtype == DType::kBfloat16) return 0x1p-8;
  if (dtype == DType::kFloat16) return 0x1p-11;
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                  : std::numeric_limits<double>::epsilon();
}

// The columns 2 .. of a wider matrix.
Tensor Middle(const Tensor& wide) {
  return wide.Channels(2, wide.shape()[1] - 5, TensorFormat::kNHWC);
}

void ExpectSameAsCpu(DeviceContext& context, Softmax& softmax, const SoftmaxSpec& spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<Softmax> expected = *CreateSoftmax(*cpu, spec);
  // Results of 16 bits are rounded once; their sums are float32's.
  const double tolerance = (IsHalf(spec.dtype) ? 1 : 32) * Epsilon(spec.dtype);
  const Tensor x = IntegerTensor(spec.dtype, {kRows, spec.columns + 5}, 1, 9);
  const Tensor dy = RandomTensor(spec.dtype, {kRows, spec.columns}, 2);
  const Tensor dx = RandomTensor(spec.dtype, {kRows, spec.columns}, 3);
  const Tensor device_x = Put(context, x), device_dy = Put(context, dy);
  const Tensor device_dx = Put(context, dx);
  ASSERT_EQ(expected->Forward(Middle(x), Middle(x)), absl::OkStatus());
  ASSERT_EQ(softmax.Forward(Middle(device_x), Middle(device_x)), absl::OkStatus());
  EXPECT_TRUE(Close(Get(context, device_x), x, 0, tolerance)) << spec.columns;
  for (const bool accumulate : {true, false}) {
    ASSERT_EQ(expected->Backward(Middle(x), dy, dx, accumulate), absl::OkStatus());
    ASSERT_EQ(softmax.Backward(Middle(device_x), device_dy, device_dx, accumulate),
              absl::OkStatus());
    EXPECT_TRUE(Close(Get(context, device_dx), dx, tolerance)) << spec.columns;
  }
}

void ExpectSameAsCpu(DeviceContext& context, SoftmaxCrossEntropy& fused, const SoftmaxSpec& spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<SoftmaxCrossEntropy> expected = *CreateSoftmaxCrossEntropy(*cpu, spec);
  const double tolerance = 32 * Epsilon(spec.dtype);
  const Tensor x = IntegerTensor(spec.dtype, {kRows, spec.columns + 5}, 1, 30);
  const Tensor y = ZeroTensor(spec.dtype, {kRows, spec.columns});
  const Tensor losses = ZeroTensor(spec.dtype, {kRows}),
               labels = ZeroTensor(DType::kInt32, {kRows});
  for (int64_t row = 0; row < kRows; ++row) {
    labels.data<int32_t>()[row] = int32_t(row * 7 % spec.columns);
  }
  const Tensor device_x = Put(context, x), device_y = Put(context, y);
  const Tensor device_losses = Put(context, losses), device_labels = Put(context, labels);
  const auto compare = [&](const Tensor& dx, const Tensor& device_dx) {
    ASSERT_EQ(expected->Run(Middle(x), labels, y, losses, dx, 0.125), absl::OkStatus());
    ASSERT_EQ(fused.Run(Middle(device_x), device_labels, device_y, device_losses, device_dx, 0.125),
              absl::OkStatus());
    EXPECT_TRUE(Close(Get(context, device_y), y, 0, tolerance)) << spec.columns;
    EXPECT_TRUE(Close(Get(context, device_losses), losses, tolerance, tolerance)) << spec.columns;
  };
  compare(Tensor(), Tensor());
  compare(Middle(x), Middle(device_x));  // dx may be x
  EXPECT_TRUE(Close(Get(context, device_x), x, tolerance)) << spec.columns;
}

class SoftmaxGpuTest : public ::testing::TestWithParam<DType> {};

TEST_P(SoftmaxGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  for (const int64_t columns : kColumns) {
    const SoftmaxSpec spec = {kRows, columns, GetParam(), columns % 2 == 0 ? 0.1 : 0};
    ExpectSameAsCpu(*gpu, **CreateSoftmax(*gpu, spec), spec);
    ExpectSameAsCpu(*gpu, **CreateSoftmaxCrossEntropy(*gpu, spec), spec);
  }
}

TEST_P(SoftmaxGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  for (const int64_t columns : kColumns) {
    const SoftmaxSpec spec = {kRows, columns, GetParam(), columns % 2 == 0 ? 0.1 : 0};
    const auto softmax = CreateSoftmax(*gpu, spec);
    ASSERT_EQ(softmax.status(), absl::OkStatus());
    ExpectSameAsCpu(*gpu, **softmax, spec);
    const auto fused = CreateSoftmaxCrossEntropy(*gpu, spec);
    ASSERT_EQ(fused.status(), absl::OkStatus());
    ExpectSameAsCpu(*gpu, **fused, spec);
  }
}

// With results of 16 bits; the CPU has bfloat16 alone.
TEST(SoftmaxNarrowGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  for (const int64_t columns : kColumns) {
    const SoftmaxSpec spec = {kRows, columns, DType::kBfloat16, 0, /*narrow_result=*/true};
    ExpectSameAsCpu(*gpu, **CreateSoftmax(*gpu, spec), spec);
  }
}

INSTANTIATE_TEST_SUITE_P(, SoftmaxGpuTest, ::testing::Values(DType::kFloat32, DType::kFloat64));

}  // namespace
}  // namespace dtnn
