// The Communicator that MpiProcess::Connect gives out.

#ifndef DTNN_COMM_MPI_MPI_COMMUNICATOR_H_
#define DTNN_COMM_MPI_MPI_COMMUNICATOR_H_

#include <memory>

#include "comm/communicator.h"
#include "comm/mpi/engine.h"
#include "comm/mpi/group.h"

namespace dtnn {

// The engine outlives it.
std::unique_ptr<Communicator> MakeMpiCommunicator(Engine& engine, std::shared_ptr<Group> group,
                                                  const RankPlace& place);

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_MPI_COMMUNICATOR_H_
