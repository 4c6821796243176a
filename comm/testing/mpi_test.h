// The main of a dtnn_mpi_test: starts MPI, insists on the number of ranks that the rule promised,
// and runs all tests on every rank. Tests may break communicators as long as no rank dies.
//
// Set in the environment: DTNN_MPI_RANKS, how many ranks there have to be; DTNN_MPI_HOSTS, on how
// many hosts tests may expect them (1); DTNN_MPI_RANKS_PER_HOST makes so many successive ranks
// count as one host.

#ifndef DTNN_COMM_TESTING_MPI_TEST_H_
#define DTNN_COMM_TESTING_MPI_TEST_H_

#include "comm/ranks/mpi/mpi_process.h"

namespace dtnn {

// This rank, from main's begin to its end.
MpiProcess& MpiTestProcess();

}  // namespace dtnn

#endif  // DTNN_COMM_TESTING_MPI_TEST_H_
