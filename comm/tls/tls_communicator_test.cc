// The conformance suite over TLS: 2 and 3 ranks that are processes, which this program starts.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "comm/tcp/tcp_process.h"
#include "comm/tcp/testing/rank_processes.h"
#include "comm/testing/communicator_conformance.h"
#include "comm/tls/authority.h"
#include "comm/tls/tls_stream.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kFolder[] = "TLS_TEST_FOLDER";

TcpProcess* the_process = nullptr;

RanksUnderTest Processes() {
  RanksUnderTest ranks;
  ranks.name = "Tls";
  ranks.size = the_process->size();
  ranks.run = [](absl::FunctionRef<absl::Status(Communicator&)> body,
                 const CommunicatorOptions& options) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                          the_process->Connect(options));
    const absl::Status status = body(*communicator);
    if (!status.ok()) communicator->Abort(status);
    return status;
  };
  return ranks;
}

std::vector<RanksUnderTest> AllWays() { return {Processes()}; }

INSTANTIATE_TEST_SUITE_P(Tls, CommunicatorConformance, ::testing::ValuesIn(AllWays()),
                         ConformanceName);

TlsFiles Files(const std::string& folder) {
  return {folder + "/host.pem", folder + "/host.key", folder + "/authority.pem"};
}

int RunOneRank(int argc, char** argv) {
  CommunicatorOptions options;
  options.timeout = std::chrono::minutes(1);
  const StreamMaker streams = Must(TlsStreams(Files(std::getenv(kFolder))));
  absl::StatusOr<std::unique_ptr<TcpProcess>> process = testing::JoinRanks(options, streams);
  if (!process.ok()) {
    std::cerr << process.status() << "\n";
    return 1;
  }
  the_process = process->get();
  if (the_process->rank() > 0) GTEST_FLAG_SET(brief, true);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

int RunAllRanks(const std::vector<std::string>& arguments) {
  unsetenv("XML_OUTPUT_FILE");
  unsetenv("TEST_PREMATURE_EXIT_FILE");
  const std::string folder = ::testing::TempDir();
  const TlsFiles files = Files(folder);
  const Certificate authority = Must(MakeAuthority("test"));
  const Certificate host = Must(MakeHostCertificate(authority, {"127.0.0.1"}));
  std::ofstream(files.authority) << authority.certificate;
  std::ofstream(files.certificate) << host.certificate;
  std::ofstream(files.key) << host.key;
  std::filesystem::permissions(files.key, std::filesystem::perms::owner_read);
  setenv(kFolder, folder.c_str(), 1);
  int failed = 0;
  for (int ranks = 2; ranks <= 3; ++ranks) {
    testing::RankProcesses processes(ranks, arguments);
    for (int rank = 0; rank < ranks; ++rank) {
      const int code = processes.Wait(rank);
      if (code == 0) continue;
      std::fprintf(stderr, "rank %d of %d ended with %d\n", rank, ranks, code);
      failed = 1;
    }
  }
  return failed;
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  if (dtnn::testing::IsRankProcess()) return dtnn::RunOneRank(argc, argv);
  return dtnn::RunAllRanks({argv + 1, argv + argc});
}
