#include "kernels/transfers/device_numbers.h"

#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

class DeviceNumbersTest : public ::testing::TestWithParam<Device> {};

// More often than there are slots, and none overtakes another.
TEST_P(DeviceNumbersTest, WorkFindsTheNumbersThatWereSetBeforeIt) {
  DTNN_GPU_OR_SKIP_AT(context, GetParam());
  DeviceNumbers numbers = *DeviceNumbers::Create(*context, DType::kFloat64, 2);
  std::vector<Tensor> copies;
  for (double step = 1; step <= 20; ++step) {
    const double values[] = {step, 1 / step};
    ASSERT_EQ(numbers.Set<double>(values), absl::OkStatus());
    copies.push_back(*Tensor::Allocate(GetParam(), DType::kFloat64, {2}));
    ASSERT_EQ(context->Copy(numbers.tensor(), copies.back()), absl::OkStatus());
  }
  for (double step = 1; step <= 20; ++step) {
    EXPECT_EQ(testing::Values(testing::Get(*context, copies[size_t(step) - 1])),
              (std::vector<double>{step, 1 / step}));
  }
}

TEST_P(DeviceNumbersTest, AreZeroAtFirstAndOfOneKind) {
  DTNN_GPU_OR_SKIP_AT(context, GetParam());
  DeviceNumbers numbers = *DeviceNumbers::Create(*context, DType::kInt64, 1);
  EXPECT_EQ(testing::Values(testing::Get(*context, numbers.tensor())), (std::vector<double>{0}));
  const double real[] = {1};
  EXPECT_EQ(numbers.Set<double>(real).code(), absl::StatusCode::kInvalidArgument);
  const int64_t two[] = {1, 2};
  EXPECT_EQ(numbers.Set<int64_t>(two).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, DeviceNumbersTest,
                         ::testing::Values(Device::Cpu(), Device::Simulated(0), Device::Cuda(0)));

}  // namespace
}  // namespace dtnn
