// MPI's C interface, without the C++ one that mpi.h would add, and its errors as a Status.

#ifndef DTNN_COMM_RANKS_MPI_MPI_API_H_
#define DTNN_COMM_RANKS_MPI_MPI_API_H_

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <span>

#include "absl/status/status.h"

namespace dtnn {

// OK for MPI_SUCCESS. A message longer than its buffer means that calls
// of ranks differ: InvalidArgument; all else that a transfer can report is taken for a lost peer:
// Unavailable.
absl::Status MpiStatus(int code, const char* call);

// MPI_Testall, whose own code hides which request failed and how: MpiStatus of the first that did.
// `all`: all are complete.
absl::Status TestAll(std::span<MPI_Request> requests, const char* call, bool& all);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_MPI_API_H_
