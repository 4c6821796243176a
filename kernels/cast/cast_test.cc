#include "kernels/cast/cast.h"

#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

class CastTest : public ::testing::TestWithParam<std::tuple<Device, DType>> {};

TEST_P(CastTest, RoundsThereAndComesBackExactly) {
  DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
  const DType half = std::get<1>(GetParam());
  const auto narrow = *CreateCast(*gpu, DType::kFloat32, half);
  const auto widen = *CreateCast(*gpu, half, DType::kFloat32);
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{1000}}) {
    const Tensor x = RandomTensor(DType::kFloat32, {n}, 1);
    const Tensor rounded = testing::TensorOf(half, {n}, Values(x));
    const Tensor y = Put(*gpu, ZeroTensor(half, {n})), z = Put(*gpu, x);
    ASSERT_EQ(narrow->Run(Put(*gpu, x), y), absl::OkStatus());
    ASSERT_EQ(widen->Run(y, z), absl::OkStatus());
    EXPECT_EQ(Values(Get(*gpu, y)), Values(rounded));
    EXPECT_EQ(Values(Get(*gpu, z)), Values(rounded));
  }
}

TEST_P(CastTest, OtherTensorsAreRefused) {
  DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
  const DType half = std::get<1>(GetParam());
  const auto narrow = *CreateCast(*gpu, DType::kFloat32, half);
  const Tensor x = Put(*gpu, ZeroTensor(DType::kFloat32, {3}));
  EXPECT_FALSE(narrow->Run(x, x).ok());
  EXPECT_FALSE(narrow->Run(x, Put(*gpu, ZeroTensor(half, {4}))).ok());
}

INSTANTIATE_TEST_SUITE_P(All, CastTest,
                         ::testing::Combine(::testing::Values(Device::Simulated(0),
                                                              Device::Cuda(0)),
                                            ::testing::Values(DType::kFloat16, DType::kBfloat16)));
INSTANTIATE_TEST_SUITE_P(Cpu, CastTest,
                         ::testing::Values(std::tuple(Device::Cpu(), DType::kBfloat16)));

TEST(CastTest, NeedsOneTypeOf16BitsThatTheDeviceComputesWith) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  EXPECT_EQ(CreateCast(*cpu, DType::kFloat32, DType::kFloat16).status().message(),
            "cast: dtype float16, expected float32, float64 or bfloat16; only GPUs compute with "
            "float16");
  for (DeviceContext* const device : {&*cpu, &*gpu}) {
    for (const auto& [from, to] : {std::pair(DType::kFloat32, DType::kFloat32),
                                   {DType::kFloat64, DType::kFloat16},
                                   {DType::kFloat16, DType::kBfloat16}}) {
      EXPECT_EQ(CreateCast(*device, from, to).status().code(), absl::StatusCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace dtnn
