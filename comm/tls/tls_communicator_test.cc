// The conformance suite over TLS: 2 and 3 ranks that are processes, which this program starts.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "comm/tcp/testing/rank_processes.h"
#include "comm/tcp/testing/rank_tests.h"
#include "comm/testing/communicator_conformance.h"
#include "comm/tls/authority.h"
#include "comm/tls/tls_stream.h"
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

TlsFiles Files(const std::string& folder) {
  return {folder + "/host.pem", folder + "/host.key", folder + "/authority.pem"};
}

// Of one host, which all ranks are on.
void WriteCertificates(const std::string& folder) {
  const TlsFiles files = Files(folder);
  const Certificate authority = Must(MakeAuthority("test"));
  const Certificate host = Must(MakeHostCertificate(authority, {"127.0.0.1"}));
  std::ofstream(files.authority) << authority.certificate;
  std::ofstream(files.certificate) << host.certificate;
  std::ofstream(files.key) << host.key;
  std::filesystem::permissions(files.key, std::filesystem::perms::owner_read);
  setenv(kFolder, folder.c_str(), 1);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  dtnn::StreamMaker streams;
  if (dtnn::testing::IsRankProcess()) {
    streams = dtnn::Must(dtnn::TlsStreams(dtnn::Files(std::getenv(dtnn::kFolder))));
  } else {
    dtnn::WriteCertificates(testing::TempDir());
  }
  return dtnn::testing::RunTestsOnRanks(argc, argv, 2, 3, streams);
}
