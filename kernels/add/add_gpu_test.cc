#include <vector>

#include "gtest/gtest.h"
#include "kernels/add/add.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::RandomTensor;

// Bit for bit: the order of the sum is the CPU's.
void ExpectSameAsCpu(DeviceContext& context, Add& add, const AddSpec& spec, size_t inputs) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<Add> expected = *CreateAdd(*cpu, spec);
  const bool nhwc = spec.format == TensorFormat::kNHWC;
  const Shape shape = {2, 3, 5, 4}, wide = nhwc ? Shape{2, 3, 5, 9} : Shape{2, 8, 5, 4};
  const auto middle = [&](const Tensor& tensor) {
    return tensor.Channels(2, nhwc ? 4 : 3, spec.format);
  };
  // Every other input is the middle of a wider tensor.
  std::vector<Tensor> x, device_x;
  for (size_t i = 0; i < inputs; ++i) {
    const Tensor whole = RandomTensor(spec.dtype, i % 2 == 1 ? wide : shape, i);
    const Tensor device_whole = Put(context, whole);
    x.push_back(i % 2 == 1 ? middle(whole) : whole);
    device_x.push_back(i % 2 == 1 ? middle(device_whole) : device_whole);
  }
  const Tensor y = RandomTensor(spec.dtype, shape, 99), device_y = Put(context, y);
  for (const bool accumulate : {true, false}) {
    ASSERT_EQ(expected->Run(x, y, accumulate), absl::OkStatus());
    ASSERT_EQ(add.Run(device_x, device_y, accumulate), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Get(context, device_y), y, 0)) << inputs;
  }
  ASSERT_EQ(expected->Run(x, x[0], false), absl::OkStatus());  // in place
  ASSERT_EQ(add.Run(device_x, device_x[0], false), absl::OkStatus());
  EXPECT_TRUE(testing::Close(Get(context, device_x[0]), x[0], 0)) << inputs;
}

class AddGpuTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType>> {
 protected:
  AddSpec spec() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(AddGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  const auto add = *CreateAdd(*gpu, spec());
  for (size_t inputs : {1, 2, 3, 16}) ExpectSameAsCpu(*gpu, *add, spec(), inputs);
}

TEST_P(AddGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  const auto add = CreateAdd(*gpu, spec());
  ASSERT_EQ(add.status(), absl::OkStatus());
  for (size_t inputs : {1, 2, 3, 16}) ExpectSameAsCpu(*gpu, **add, spec(), inputs);
}

TEST_P(AddGpuTest, RefusesMoreInputsThanFit) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  const auto add = *CreateAdd(*gpu, spec());
  const Tensor y = Put(*gpu, testing::ZeroTensor(spec().dtype, {2, 2}));
  for (size_t inputs : {0, 17}) {
    const absl::Status status = add->Run(std::vector<Tensor>(inputs, y), y, false);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(, AddGpuTest,
                         ::testing::Combine(::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
