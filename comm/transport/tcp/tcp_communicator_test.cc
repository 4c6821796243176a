// The conformance suite on 1 to 4 ranks that are processes, which the program starts; it fails
// where one of them does. `--shared`: they share memory.

#include <cstring>
#include <memory>
#include <vector>

#include "comm/testing/communicator_conformance.h"
#include "comm/transport/tcp/testing/rank_tests.h"
#include "comm/transport/tcp/testing/tcp_process.h"
#include "gtest/gtest.h"
#include "tensor/tensor.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::TestedProcess;
using testing::TestedRanks;

std::vector<RanksUnderTest> AllWays() {
  return {TestedRanks("Plain", false, {}), TestedRanks("Checked", true, {}),
          TestedRanks("Gathered", false, {.sums_in_rank_order = true}),
          TestedRanks("Slices", false, {.slices_from = 0})};
}

INSTANTIATE_TEST_SUITE_P(Tcp, CommunicatorConformance, ::testing::ValuesIn(AllWays()),
                         ConformanceName);
INSTANTIATE_TEST_SUITE_P(Tcp, CommunicatorPatience, ::testing::Values(AllWays()[0]),
                         ConformanceName);

// So that the size of gradients' buckets can be chosen freely.
TEST(TcpCommunicatorTest, SumsHaveTheSameBitsHoweverATensorIsCut) {
  const std::unique_ptr<Communicator> c = *TestedProcess().Connect();
  constexpr int64_t kElements = 100003;
  const uint64_t seed = uint64_t(c->rank());
  const Tensor whole = testing::RandomTensor(DType::kFloat32, {kElements}, seed);
  ASSERT_EQ(c->AllReduce(whole), absl::OkStatus());
  for (const int64_t piece : {1, 16, 5000, 65536}) {
    const Tensor cut = testing::RandomTensor(DType::kFloat32, {kElements}, seed);
    // The smallest pieces only for a while.
    const int64_t end = std::min(kElements, 200 * piece);
    for (int64_t begin = 0; begin < end; begin += piece) {
      const int64_t count = std::min(piece, end - begin);
      ASSERT_EQ(c->AllReduce(cut.Samples(begin, count, TensorFormat::kNHWC)), absl::OkStatus());
    }
    EXPECT_EQ(std::memcmp(cut.raw_data(), whole.raw_data(), size_t(end) * sizeof(float)), 0)
        << "pieces of " << piece;
  }
}

// So that they can be chosen freely too.
TEST(TcpCommunicatorTest, SlicesGiveTheSameBits) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int64_t elements : {1, 2, 3, 4, 5, 7, 1000, 100003}) {
      const std::unique_ptr<Communicator> halving = *TestedProcess().Connect();
      const std::unique_ptr<Communicator> slices = *TestedProcess().Connect({}, {.slices_from = 0});
      const uint64_t seed = uint64_t(halving->rank());
      const Tensor x = testing::RandomTensor(dtype, {elements}, seed);
      const Tensor y = testing::RandomTensor(dtype, {elements}, seed);
      ASSERT_EQ(halving->AllReduce(x), absl::OkStatus());
      ASSERT_EQ(slices->AllReduce(y), absl::OkStatus());
      EXPECT_EQ(std::memcmp(x.raw_data(), y.raw_data(), size_t(elements) * SizeOf(dtype)), 0)
          << elements << " elements";
    }
  }
}

// Calls that are not checked.
TEST(TcpCommunicatorTest, CallsThatDifferInSizeAreFoundUnasked) {
  if (TestedProcess().size() == 1) GTEST_SKIP() << "needs a second rank";
  for (const int64_t elements : {int64_t{8}, int64_t{1} << 20}) {
    const std::unique_ptr<Communicator> c = *TestedProcess().Connect();
    const Tensor x =
        testing::ZeroTensor(DType::kFloat32, {c->rank() == 1 ? elements - 1 : elements});
    absl::Status status = c->AllReduce(x);
    if (status.ok()) status = c->Barrier();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(status.message().find("the ranks' calls differ in size"), status.message().npos)
        << status;
    EXPECT_EQ(c->Barrier(), status);
  }
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  const bool shared = argc > 1 && std::strcmp(argv[1], "--shared") == 0;
  return dtnn::testing::RunTestsOnRanks(
      argc, argv, 1, 4, shared ? dtnn::testing::JoinBySharedMemory() : dtnn::testing::JoinByTcp());
}
