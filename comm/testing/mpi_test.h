// The main of a dtnn_mpi_test: starts MPI, insists on the number of ranks that the rule promised,
// and runs all tests on every rank. In the environment,
// DTNN_MPI_RANKS_PER_HOST makes so many successive ranks count as one host. Tests may break
// communicators as long as no rank dies.

#ifndef DTNN_COMM_TESTING_MPI_TEST_H_
#define DTNN_COMM_TESTING_MPI_TEST_H_

#include "comm/mpi/mpi_process.h"

namespace dtnn {

// This rank, from main's begin to its end.
MpiProcess& MpiTestProcess();

}  // namespace dtnn

#endif  // DTNN_COMM_TESTING_MPI_TEST_H_
