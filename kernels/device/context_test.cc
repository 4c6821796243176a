#include "kernels/device/context.h"

#include <string>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Pitched;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

constexpr DType kFloat = DType::kFloat32;

TEST(CpuContextTest, CopiesAndZeroes) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const Tensor x = RandomTensor(kFloat, {4, 6}, 1), y = ZeroTensor(kFloat, {24});
  ASSERT_EQ(cpu->Copy(x, y), absl::OkStatus());
  EXPECT_EQ(Values(y), Values(x));
  ASSERT_EQ(cpu->FillZero(x), absl::OkStatus());
  EXPECT_EQ(Values(x), Values(ZeroTensor(kFloat, {4, 6})));
  EXPECT_EQ(cpu->Copy(ZeroTensor(kFloat, {0, 3}), ZeroTensor(kFloat, {0})), absl::OkStatus());
}

// Each of them would read or write memory of others.
TEST(CpuContextTest, RefusesWhatItCannotCopyOrZero) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const Tensor x = ZeroTensor(kFloat, {4, 6}), pitched = Pitched(x, TensorFormat::kNHWC);
  for (const absl::Status& status :
       {cpu->Copy(x, ZeroTensor(kFloat, {4, 5})), cpu->Copy(ZeroTensor(kFloat, {4, 7}), x),
        cpu->Copy(x, ZeroTensor(DType::kFloat64, {4, 6})), cpu->Copy(pitched, x),
        cpu->Copy(x, pitched), cpu->Copy(Tensor(), x), cpu->Copy(x, Tensor()),
        cpu->FillZero(pitched), cpu->FillZero(Tensor())}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  EXPECT_EQ(cpu->Copy(x, ZeroTensor(kFloat, {4, 5})).message(),
            "copying: 96 bytes to a tensor of 80; expected as many");
}

}  // namespace
}  // namespace dtnn
