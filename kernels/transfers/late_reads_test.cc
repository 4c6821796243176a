#include "kernels/transfers/late_reads.h"

#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Put;
using testing::TensorOf;
using testing::Values;

class LateReadsTest : public ::testing::TestWithParam<Device> {};

// The device's tensors change while sets wait: each keeps what it was when it was added.
TEST_P(LateReadsTest, SetsComeInOrderAsTheyWereWhenAdded) {
  DTNN_GPU_OR_SKIP_AT(context, GetParam());
  const Tensor losses = Put(*context, TensorOf(DType::kFloat64, {4}, {0, 0, 0, 0}));
  const Tensor norm = Put(*context, TensorOf(DType::kFloat64, {1}, {0}));
  LateReads reads = *LateReads::Create(
      *context,
      std::vector<LateReads::Kind>{{DType::kFloat64, Shape{4}}, {DType::kFloat64, Shape{1}}}, 2);
  for (double step = 0; step < 9; ++step) {
    const int64_t samples = 4 - int64_t(step) % 3;
    const Tensor some = losses.Samples(0, samples, TensorFormat::kNHWC);
    ASSERT_EQ(
        context->Copy(
            TensorOf(DType::kFloat64, {samples}, std::vector<double>(size_t(samples), step)), some),
        absl::OkStatus());
    ASSERT_EQ(context->Copy(TensorOf(DType::kFloat64, {1}, {-step}), norm), absl::OkStatus());
    ASSERT_EQ(reads.Add(std::vector{some, norm}), absl::OkStatus());
    if (reads.waiting() < 2) continue;
    const auto set = reads.Take();
    ASSERT_EQ(set.status(), absl::OkStatus());
    EXPECT_EQ(Values((*set)[0]), std::vector<double>(size_t(4 - int64_t(step - 1) % 3), step - 1));
    EXPECT_EQ(Values((*set)[1]), (std::vector<double>{1 - step}));
  }
  EXPECT_EQ(reads.waiting(), 1);
}

TEST_P(LateReadsTest, RefusesMoreThanThereIsRoomFor) {
  DTNN_GPU_OR_SKIP_AT(context, GetParam());
  const Tensor x = Put(*context, TensorOf(DType::kFloat64, {2}, {1, 2}));
  const Tensor larger = Put(*context, TensorOf(DType::kFloat64, {3}, {1, 2, 3}));
  LateReads reads =
      *LateReads::Create(*context, std::vector<LateReads::Kind>{{DType::kFloat64, Shape{2}}}, 1);
  const Tensor other = Put(*context, TensorOf(DType::kFloat32, {2}, {1, 2}));
  EXPECT_EQ(reads.Take().status().message(), "late reads: nothing waits to be read");
  EXPECT_EQ(reads.Add({&larger, 1}).message(),
            "late reads: a tensor of shape (3,) and type float64 does not fit one of (2,) and type "
            "float64");
  EXPECT_EQ(reads.Add({&other, 1}).message(),
            "late reads: a tensor of shape (2,) and type float32 does not fit one of (2,) and type "
            "float64");
  EXPECT_EQ(reads.Add({}).message(), "late reads: 0 tensors, expected 1");
  EXPECT_EQ(reads.waiting(), 0);
  EXPECT_EQ(reads.Add({&x, 1}), absl::OkStatus());
  EXPECT_EQ(reads.Add({&x, 1}).message(), "late reads: all slots wait to be read");
  reads.Drop();
  EXPECT_EQ(reads.Add({&x, 1}), absl::OkStatus());
}

TEST(LateReadsOnACpuTest, AreRefused) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(LateReads::Create(*cpu, {}, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, LateReadsTest, ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

}  // namespace
}  // namespace dtnn
