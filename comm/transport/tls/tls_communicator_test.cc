// The conformance suite over TLS: 2 and 3 ranks that are processes, which this program starts.

#include <cstdlib>
#include <string>
#include <vector>

#include "comm/testing/communicator_conformance.h"
#include "comm/transport/tcp/testing/rank_processes.h"
#include "comm/transport/tcp/testing/rank_tests.h"
#include "comm/transport/tls/testing/host_files.h"
#include "comm/transport/tls/tls_stream.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

constexpr char kFolder[] = "TLS_TEST_FOLDER";

std::vector<RanksUnderTest> AllWays() {
  return {testing::TestedRanks("Tls", /*checked=*/false, {})};
}

INSTANTIATE_TEST_SUITE_P(Tls, CommunicatorConformance, ::testing::ValuesIn(AllWays()),
                         ConformanceName);
INSTANTIATE_TEST_SUITE_P(Tls, CommunicatorPatience, ::testing::Values(AllWays()[0]),
                         ConformanceName);

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  dtnn::StreamMaker streams;
  if (dtnn::testing::IsRankProcess()) {
    const std::string folder = std::getenv(dtnn::kFolder);
    streams = dtnn::Must(dtnn::TlsStreams(dtnn::testing::HostFiles(folder)));
  } else {
    dtnn::testing::WriteHostFiles(testing::TempDir());
    setenv(dtnn::kFolder, testing::TempDir().c_str(), 1);
  }
  return dtnn::testing::RunTestsOnRanks(argc, argv, 2, 3, dtnn::testing::JoinByTcp(streams));
}
