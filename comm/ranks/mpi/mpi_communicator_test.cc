// The conformance suite over real MPI, in every way that calls can be carried out.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "comm/all_reduce_algorithm.h"
#include "comm/ranks/mpi/mpi_process.h"
#include "comm/testing/communicator_conformance.h"
#include "comm/testing/mpi_test.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

absl::Status RunOnThisRank(absl::FunctionRef<absl::Status(Communicator&)> body,
                           const CommunicatorOptions& options, const MpiOptions& mpi) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator,
                        MpiTestProcess().Connect(options, mpi));
  const absl::Status status = body(*communicator);
  if (!status.ok()) communicator->Abort(status);
  return status;
}

RanksUnderTest Processes(const std::string& name, bool checked, const MpiOptions& mpi) {
  RanksUnderTest ranks;
  ranks.name = name;
  ranks.size = MpiTestProcess().size();
  if (const char* hosts = std::getenv("DTNN_MPI_HOSTS")) ranks.hosts = std::atoi(hosts);
  ranks.sums_in_rank_order = !mpi.buffers;
  ranks.run = [checked, mpi](absl::FunctionRef<absl::Status(Communicator&)> body,
                             const CommunicatorOptions& options) {
    CommunicatorOptions all = options;
    all.check_calls |= checked;
    return RunOnThisRank(body, all, mpi);
  };
  return ranks;
}

std::vector<RanksUnderTest> AllWays() {
  const RanksUnderTest plain = Processes("Plain", false, {});
  if (StagesPay({.nodes = plain.hosts, .ranks_per_node = plain.size / plain.hosts})) {
    MpiOptions staged;
    staged.staged_bytes = 1;
    return {plain, Processes("Staged", false, staged), Processes("StagedAndChecked", true, staged)};
  }
  MpiOptions gathered, chunked;
  gathered.buffers = false;
  chunked.max_count = 1000;
  return {plain, Processes("Checked", true, {}), Processes("Gathered", false, gathered),
          Processes("Chunked", false, chunked)};
}

// So that the size of gradients' buckets can be chosen freely.
TEST(MpiCommunicatorTest, SumsThatDoNotGoInStagesHaveTheSameBitsHoweverATensorIsCut) {
  if (std::getenv("DTNN_MPI_HOSTS") != nullptr) GTEST_SKIP() << "stages begin at a size";
  absl::StatusOr<std::unique_ptr<Communicator>> c = MpiTestProcess().Connect();
  ASSERT_TRUE(c.ok()) << c.status();
  constexpr int64_t kElements = 100003;
  const Tensor whole = testing::RandomTensor(DType::kFloat32, {kElements}, uint64_t((*c)->rank()));
  ASSERT_TRUE((*c)->AllReduce(whole).ok());
  for (const int64_t piece : {1, 16, 5000, 65536}) {
    const Tensor cut = testing::RandomTensor(DType::kFloat32, {kElements}, uint64_t((*c)->rank()));
    // The smallest pieces only for a while.
    const int64_t end = std::min(kElements, 200 * piece);
    for (int64_t begin = 0; begin < end; begin += piece) {
      const int64_t count = std::min(piece, end - begin);
      ASSERT_TRUE((*c)->AllReduce(cut.Samples(begin, count, TensorFormat::kNHWC)).ok());
    }
    EXPECT_EQ(std::memcmp(cut.raw_data(), whole.raw_data(), size_t(end) * sizeof(float)), 0)
        << "pieces of " << piece;
  }
}

// Calls that are not checked: MPI's own word, of one request among several.
TEST(MpiCommunicatorTest, AMessageThatIsTooLongForItsReceiverIsAWrongCall) {
  const int size = MpiTestProcess().size();
  if (size == 1) GTEST_SKIP() << "needs a second rank";
  for (const int64_t elements : {int64_t{8}, int64_t{1} << 20}) {
    MpiOptions chunked;
    chunked.max_count = elements / 4;
    absl::StatusOr<std::unique_ptr<Communicator>> c = MpiTestProcess().Connect({}, chunked);
    ASSERT_TRUE(c.ok()) << c.status();
    const int rank = (*c)->rank();
    const absl::StatusOr<Tensor> x =
        Tensor::Zeros(DType::kFloat32, {rank == 1 ? elements - 1 : elements});
    ASSERT_TRUE(x.ok()) << x.status();
    absl::Status status;
    if (rank == 0) {
      // It need not be the sender who finds out.
      (void)(*c)->Send(*x, 1);
      status = (*c)->Barrier();
    } else {
      if (rank == 1) status = (*c)->Receive(*x, 0);
      if (status.ok()) status = (*c)->Barrier();
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(status.message().find("the ranks' calls differ in size"), status.message().npos)
        << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorConformance, ::testing::ValuesIn(AllWays()),
                         ConformanceName);
INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorPatience, ::testing::Values(AllWays()[0]),
                         ConformanceName);

}  // namespace
}  // namespace dtnn
