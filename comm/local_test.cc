#include "comm/local.h"

#include <string>

#include "comm/testing/communicator_conformance.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::ZeroTensor;

RanksUnderTest Threads(int size) {
  RanksUnderTest ranks;
  ranks.name = "Threads";
  ranks.size = size;
  ranks.sums_in_rank_order = true;
  ranks.run = [size](absl::FunctionRef<absl::Status(Communicator&)> body,
                     const CommunicatorOptions& options) { return RunRanks(size, body, options); };
  return ranks;
}
INSTANTIATE_TEST_SUITE_P(Local, CommunicatorConformance,
                         ::testing::Values(Threads(1), Threads(2), Threads(3), Threads(4),
                                           Threads(5)),
                         ConformanceName);
INSTANTIATE_TEST_SUITE_P(Local, CommunicatorPatience, ::testing::Values(Threads(3)),
                         ConformanceName);

TEST(LocalTest, ARankBusyElsewhereHoldsNobodyUp) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(2);
  const Tensor a = testing::TensorOf(DType::kFloat32, {1}, {1});
  const Tensor b = testing::TensorOf(DType::kFloat32, {1}, {2});
  std::unique_ptr<Work> first = ranks[0]->AllReduceAsync(a);
  ASSERT_EQ(ranks[1]->AllReduce(b), absl::OkStatus());  // rank 0 has not waited yet
  EXPECT_EQ(*a.data<float>(), 3);
  EXPECT_EQ(*b.data<float>(), 3);
  EXPECT_EQ(first->Wait(), absl::OkStatus());
}

TEST(LocalTest, MismatchesAreFoundUnasked) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(2);
  std::unique_ptr<Work> first = ranks[0]->AllReduceAsync(ZeroTensor(DType::kFloat32, {3}));
  const absl::Status status = ranks[1]->AllReduce(ZeroTensor(DType::kFloat32, {4}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(first->Wait(), status);
}

TEST(LocalTest, ARankThatHasLeftIsReported) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(2);
  ranks[1] = nullptr;
  const absl::Status status = ranks[0]->Barrier();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 left before collective number 0"));
  EXPECT_THAT(ranks[0]->lost(), ::testing::ElementsAre(1));
}

TEST(LocalTest, TimeoutNamesCollectiveRankAndMissing) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(4);
  const Tensor x = ZeroTensor(DType::kFloat32, {8}), y = ZeroTensor(DType::kFloat32, {8});
  std::unique_ptr<Work> other = ranks[2]->AllReduceAsync(y);
  const absl::Status status = ranks[0]->AllReduce(x, ReduceOp::kSum, milliseconds(100));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("collective number 0, all-reduce of 8 float32: rank 0 waited 100 ms for "
                        "ranks 1, 3, which did not call it"));
  // The others do not wait for their own timeouts, and a latecomer touches nobody's memory.
  EXPECT_EQ(other->Wait(), status);
  EXPECT_EQ(ranks[1]->AllReduce(x), status);
  EXPECT_EQ(ranks[0]->Barrier(), status);
  EXPECT_THAT(ranks[1]->lost(), ::testing::ElementsAre(1, 3));
}

TEST(LocalTest, TimeoutOfTheGroupAppliesWithoutOneOfTheCall) {
  std::vector<std::unique_ptr<Communicator>> ranks =
      *LocalGroup::Create(2, {.timeout = milliseconds(50)});
  EXPECT_EQ(ranks[1]->Barrier().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LocalTest, AnErrorOfOneRankEndsTheOthersAndIsReturned) {
  const absl::Status status = RunRanks(3, [](Communicator& c) -> absl::Status {
    if (c.rank() == 1) return absl::DataLossError("image 7 is corrupt");
    return c.Barrier();
  });
  EXPECT_EQ(status, absl::DataLossError("image 7 is corrupt"));
}

TEST(LocalTest, CompletedCollectivesSurviveALaterError) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(2);
  std::unique_ptr<Work> a = ranks[0]->AllReduceAsync(ZeroTensor(DType::kFloat32, {100}));
  std::unique_ptr<Work> b = ranks[1]->AllReduceAsync(ZeroTensor(DType::kFloat32, {100}));
  ranks[0]->Abort(absl::CancelledError("interrupted"));
  EXPECT_EQ(a->Wait(), absl::OkStatus());
  EXPECT_EQ(b->Wait(), absl::OkStatus());
  EXPECT_EQ(ranks[1]->Barrier(), absl::CancelledError("rank 0 gave up: interrupted"));
  EXPECT_EQ(ranks[1]->lost(), std::vector<int>{0});
}

TEST(LocalTest, AThousandGroupsComeAndGo) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(absl::OkStatus(), RunRanks(2, [](Communicator& c) { return c.Barrier(); }));
  }
}

TEST(LocalTest, AGroupHasAtLeastOneRank) {
  for (int size : {0, -1}) {
    EXPECT_EQ(LocalGroup::Create(size).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(RunRanks(size, [](Communicator&) { return absl::OkStatus(); }).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace dtnn
