// The conformance suite through rank 0's gRPC server, with and without TLS: 1 to 4 ranks that are
// processes, which this program starts.

#include <cstdlib>
#include <string>
#include <vector>

#include "comm/testing/communicator_conformance.h"
#include "comm/transport/grpc/testing/join_by_grpc.h"
#include "comm/transport/tcp/testing/rank_tests.h"
#include "comm/transport/tls/testing/host_files.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr char kFolder[] = "GRPC_TEST_FOLDER";

std::vector<RanksUnderTest> AllWays() {
  return {testing::TestedRanks(std::getenv(kFolder) == nullptr ? "Plain" : "Tls",
                               /*checked=*/false, {})};
}

INSTANTIATE_TEST_SUITE_P(Grpc, CommunicatorConformance, ::testing::ValuesIn(AllWays()),
                         ConformanceName);
INSTANTIATE_TEST_SUITE_P(Grpc, CommunicatorPatience, ::testing::Values(AllWays()[0]),
                         ConformanceName);

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  using namespace dtnn::testing;
  const char* const folder = std::getenv(dtnn::kFolder);
  const Join join = JoinByGrpc(folder == nullptr ? "" : folder);
  if (IsRankProcess()) return RunTestsOnRanks(argc, argv, 1, 4, join);
  const int plain = RunTestsOnRanks(argc, argv, 1, 4, join);
  WriteHostFiles(::testing::TempDir());
  setenv(dtnn::kFolder, ::testing::TempDir().c_str(), 1);
  const int tls = RunTestsOnRanks(argc, argv, 2, 3, join);
  return plain + tls;
}
