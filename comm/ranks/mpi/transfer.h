// A checked call as nonblocking MPI calls on the tensors themselves.
//
// The number of elements of one MPI call is an int, so larger tensors go in several calls: chunk by
// chunk, or, all-gather and all-to-all, whose pieces do not lie together, as one element of a
// larger type. What algorithm carries a collective is Open MPI's choice (coll/libnbc).

#ifndef DTNN_COMM_RANKS_MPI_TRANSFER_H_
#define DTNN_COMM_RANKS_MPI_TRANSFER_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/ranks/mpi/mpi_api.h"

namespace dtnn {

constexpr int64_t kMaxMpiCount = std::numeric_limits<int>::max();

MPI_Datatype MpiTypeOf(DType dtype);
MPI_Op MpiOpOf(ReduceOp op);

// Appends what is to be completed to `requests`: nothing where there is nothing to transfer.
// `max_count`: elements per MPI call, at most kMaxMpiCount. Not for a reduce-scatter, which is an
// all-to-all whose parts are then added.
absl::Status BeginTransfer(const Collective& call, int rank, MPI_Comm comm, int64_t max_count,
                           std::vector<MPI_Request>& requests);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_TRANSFER_H_
