// The conformance suite over real MPI, in every way that calls can be carried out.

#include <cstdlib>
#include <string>
#include <vector>

#include "comm/all_reduce_algorithm.h"
#include "comm/mpi/mpi_process.h"
#include "comm/testing/communicator_conformance.h"
#include "comm/testing/mpi_test.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

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

INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorConformance, ::testing::ValuesIn(AllWays()),
                         ConformanceName);

}  // namespace
}  // namespace dtnn
