#include "comm/testing/mpi_test.h"

#include <cstdlib>
#include <iostream>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

MpiProcess* the_process = nullptr;

int RunAllRanks(int argc, char** argv) {
  CommunicatorOptions options;
  options.timeout = std::chrono::minutes(1);
  const char* const per_host = std::getenv("DTNN_MPI_RANKS_PER_HOST");
  absl::StatusOr<std::unique_ptr<MpiProcess>> process =
      MpiProcess::Start(options, per_host == nullptr ? 0 : std::atoi(per_host));
  if (!process.ok()) {
    std::cerr << process.status() << "\n";
    return 1;
  }
  the_process = process->get();
  the_process->finalize_always();
  const char* const expected = std::getenv("DTNN_MPI_RANKS");
  if (expected == nullptr || std::atoi(expected) != the_process->size()) {
    std::cerr << "mpirun started " << the_process->size() << " ranks, expected "
              << (expected == nullptr ? "DTNN_MPI_RANKS to tell how many" : expected) << "\n";
    return 1;
  }
  // One rank writes the report and the list of tests; the others speak of failures only.
  if (the_process->rank() > 0) {
    unsetenv("XML_OUTPUT_FILE");
    unsetenv("TEST_PREMATURE_EXIT_FILE");
    GTEST_FLAG_SET(brief, true);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace

MpiProcess& MpiTestProcess() { return *the_process; }

}  // namespace dtnn

int main(int argc, char** argv) { return dtnn::RunAllRanks(argc, argv); }
