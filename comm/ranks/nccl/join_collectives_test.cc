#include "comm/ranks/nccl/join_collectives.h"

#include "comm/local.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using ::testing::HasSubstr;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

constexpr std::chrono::minutes kTimeout{1};

TEST(JoinCollectivesTest, AGroupSumsAsTheCommunicatorDoes) {
  for (const int ranks : {1, 2, 4}) {
    const absl::Status status = RunRanks(ranks, [](Communicator& c) -> absl::Status {
      DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Simulated(c.rank())));
      DTNN_ASSIGN_OR_RETURN(const auto group, JoinCollectives(c, *context, kTimeout));
      const Tensor host = RandomTensor(DType::kFloat32, {1000}, uint64_t(c.rank()) + 1);
      const Tensor sum = Put(*context, host);
      DTNN_RETURN_IF_ERROR(group->AllReduce(0, sum));
      DTNN_RETURN_IF_ERROR(group->Await(0));
      DTNN_RETURN_IF_ERROR(c.AllReduce(host));
      EXPECT_EQ(Values(Get(*context, sum)), Values(host));
      return c.Barrier();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Gradients are summed where they are, while the communicator is at work too.
TEST(JoinCollectivesTest, AReducerSumsOnTheDevice) {
  for (const bool blocking : {true, false}) {
    const absl::Status status = RunRanks(2, [&](Communicator& c) -> absl::Status {
      DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Simulated(c.rank())));
      DTNN_ASSIGN_OR_RETURN(const auto group, JoinCollectives(c, *context, kTimeout));
      const Tensor host = RandomTensor(DType::kFloat64, {1000}, uint64_t(c.rank()) + 1);
      const Tensor fresh = Put(*context, host), gradients = Put(*context, host);
      const Tensor other = RandomTensor(DType::kFloat64, {10}, 3);
      DTNN_RETURN_IF_ERROR(c.AllReduce(host));
      GradientReducer reducer(
          c, DType::kFloat64, 1000,
          {.bucket_bytes = 2000, .blocking = blocking, .collectives = group.get()});
      for (int step = 0; step < 3; ++step) {
        DTNN_RETURN_IF_ERROR(context->Copy(fresh, gradients));
        DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
        reducer.Ready(500);
        DTNN_RETURN_IF_ERROR(c.AllReduce(other));
        DTNN_RETURN_IF_ERROR(reducer.Finish([](size_t) { return absl::OkStatus(); }));
        EXPECT_EQ(Values(Get(*context, gradients)), Values(host));
      }
      // A step that is left.
      DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
      reducer.Ready(500);
      DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
      DTNN_RETURN_IF_ERROR(context->FillZero(gradients));
      DTNN_RETURN_IF_ERROR(reducer.Finish([](size_t) { return absl::OkStatus(); }));
      EXPECT_EQ(Values(Get(*context, gradients)), std::vector<double>(1000, 0));
      return c.Barrier();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(JoinCollectivesTest, OneGpuForTwoRanksIsRefusedOnAll) {
  const absl::Status status = RunRanks(3, [](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto context,
                          DeviceContext::Create(Device::Simulated(c.rank() == 2 ? 1 : c.rank())));
    const absl::Status refused = JoinCollectives(c, *context, kTimeout).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("ranks 1 and 2 have the same GPU"));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(JoinCollectivesTest, ARankThatTheCommunicatorHasLostIsNotWaitedFor) {
  const absl::Status status = RunRanks(2, [](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Simulated(c.rank())));
    DTNN_ASSIGN_OR_RETURN(const auto group, JoinCollectives(c, *context, std::chrono::hours(1)));
    if (c.rank() == 1) {
      c.Abort(absl::ResourceExhaustedError("no memory"));
      return absl::OkStatus();
    }
    const Tensor sum = Put(*context, RandomTensor(DType::kFloat32, {10}, 1));
    DTNN_RETURN_IF_ERROR(group->AllReduce(0, sum));
    const absl::Status lost = group->Await(0);
    EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(lost.message()), HasSubstr("rank 1 left or gave up"));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(JoinCollectivesTest, CpusHaveNone) {
  const absl::Status status = RunRanks(2, [](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Cpu()));
    const absl::Status refused = JoinCollectives(c, *context, kTimeout).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(c.rank() == 0 ? "cpu has no collectives" : "rank 0 could not make"));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
