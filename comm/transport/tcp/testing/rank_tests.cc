#include "comm/transport/tcp/testing/rank_tests.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "comm/transport/tcp/testing/rank_processes.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

namespace dtnn::testing {
namespace {

ExchangeProcess* the_process = nullptr;

int RunOneRank(int argc, char** argv, const Join& join) {
  CommunicatorOptions options;
  options.timeout = std::chrono::minutes(1);
  absl::StatusOr<std::unique_ptr<ExchangeProcess>> process = join(options);
  if (!process.ok()) {
    std::cerr << process.status() << "\n";
    return 1;
  }
  the_process = process->get();
  // One rank writes the list of tests; the others speak of failures only.
  if (the_process->rank() > 0) GTEST_FLAG_SET(brief, true);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace

int RunTestsOnRanks(int argc, char** argv, int least, int most, const Join& join) {
  if (IsRankProcess()) return RunOneRank(argc, argv, join);
  unsetenv("XML_OUTPUT_FILE");
  unsetenv("TEST_PREMATURE_EXIT_FILE");
  int failed = 0;
  for (int ranks = least; ranks <= most; ++ranks) {
    RankProcesses processes(ranks, {argv + 1, argv + argc});
    for (int rank = 0; rank < ranks; ++rank) {
      const int code = processes.Wait(rank);
      if (code == 0) continue;
      std::fprintf(stderr, "rank %d of %d ended with %d\n", rank, ranks, code);
      failed = 1;
    }
  }
  return failed;
}

ExchangeProcess& TestedProcess() { return *the_process; }

RanksUnderTest TestedRanks(const std::string& name, bool checked, const ExchangeOptions& tcp) {
  RanksUnderTest ranks;
  ranks.name = name;
  ranks.size = the_process->size();
  ranks.sums_in_rank_order = tcp.sums_in_rank_order;
  ranks.run = [checked, tcp](absl::FunctionRef<absl::Status(Communicator&)> body,
                             const CommunicatorOptions& options) -> absl::Status {
    CommunicatorOptions all = options;
    all.check_calls |= checked;
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                          the_process->Connect(all, tcp));
    const absl::Status status = body(*communicator);
    if (!status.ok()) communicator->Abort(status);
    return status;
  };
  return ranks;
}

}  // namespace dtnn::testing
