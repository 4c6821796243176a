#include "kernels/transfers/exchange_twin.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::IntegerTensor;
using testing::Put;
using testing::Values;

Tensor Part(const Tensor& array, int64_t begin, int64_t count) {
  return array.Samples(begin, count, TensorFormat::kNHWC);
}

TEST(ExchangeTwinTest, TheCpuNeedsNone) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(*ExchangeTwin::Create(*cpu, DType::kFloat32, {3}), nullptr);
}

class ExchangeTwinGpuTest : public ::testing::TestWithParam<Device> {};

// Ranges are fetched in the order in which they are written, and returned while the context
// continues.
TEST_P(ExchangeTwinGpuTest, RangesAreChangedByTheHost) {
  DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
  const auto twin = *ExchangeTwin::Create(*gpu, DType::kFloat32, {40, 60});
  const Tensor values = IntegerTensor(DType::kFloat32, {100}, 1);
  const Tensor array = Put(*gpu, values), other = Put(*gpu, values), twice = Put(*gpu, values);
  std::vector<double> expected = Values(values);
  for (double& value : expected) value *= 2;
  for (int step = 0; step < 3; ++step) {
    ASSERT_EQ(gpu->Copy(Part(other, 60, 40), Part(array, 60, 40)), absl::OkStatus());
    ASSERT_EQ(twin->Fetch(0, Part(array, 60, 40)), absl::OkStatus());
    ASSERT_EQ(gpu->Copy(Part(other, 0, 60), Part(array, 0, 60)), absl::OkStatus());
    ASSERT_EQ(twin->Fetch(1, Part(array, 0, 60)), absl::OkStatus());
    for (const size_t range : {0, 1}) {
      const Tensor host = *twin->Await(range);
      ASSERT_EQ(host.num_elements(), range == 0 ? 40 : 60);
      for (int64_t i = 0; i < host.num_elements(); ++i) host.data<float>()[i] *= 2;
      ASSERT_EQ(twin->Return(range), absl::OkStatus());
    }
    ASSERT_EQ(gpu->Copy(array, twice), absl::OkStatus());
    EXPECT_EQ(Values(Get(*gpu, twice)), expected);
  }
}

TEST_P(ExchangeTwinGpuTest, WhatIsReleasedMayBeWritten) {
  DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
  const auto twin = *ExchangeTwin::Create(*gpu, DType::kFloat32, {100});
  const Tensor array = Put(*gpu, IntegerTensor(DType::kFloat32, {100}, 1));
  ASSERT_EQ(twin->Fetch(0, array), absl::OkStatus());
  ASSERT_EQ(twin->Release(), absl::OkStatus());
  EXPECT_EQ(gpu->FillZero(array), absl::OkStatus());
  const absl::Status late = twin->Return(0);
  EXPECT_EQ(late.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.message()), ::testing::EndsWith(": range 0 was not fetched"));
  EXPECT_EQ(Values(Get(*gpu, array)), std::vector<double>(100, 0));
  EXPECT_EQ(twin->Fetch(0, Part(array, 0, 99)).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, ExchangeTwinGpuTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

}  // namespace
}  // namespace dtnn
