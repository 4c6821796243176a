// MPI's start on the thread that calls it: the ranks, their hosts, and how they reach each other.

#ifndef DTNN_COMM_RANKS_MPI_MPI_WORLD_H_
#define DTNN_COMM_RANKS_MPI_MPI_WORLD_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/mpi/control/control_channel.h"
#include "comm/ranks/mpi/control/control_socket.h"
#include "comm/ranks/mpi/mpi_api.h"

namespace dtnn {

struct MpiWorld {
  RankPlace place;
  bool crowded = false;  // the ranks of this host have to share cores
  // All ranks, and, where all-reduces go in stages (hierarchy.h), those of this host and those of
  // the same place on all hosts.
  MPI_Comm world = MPI_COMM_NULL, here = MPI_COMM_NULL, across = MPI_COMM_NULL;
  // For ControlChannel.
  std::optional<ControlSocket> socket;
  std::vector<ControlAddress> addresses;  // by rank
  ControlChannel::Token token = {};
};

// What every rank tells the others about its datagrams.
struct DatagramReport {
  int unreached = -1;  // the first rank that has not answered, if there is one
  char host[64] = {};  // this rank's
};
// On MPI's thread, by all ranks together: every rank's.
absl::StatusOr<std::vector<DatagramReport>> GatherReports(const MpiWorld& world,
                                                          const DatagramReport& mine);
// OK, or which rank does not reach which other, on which hosts.
absl::Status CheckReports(const std::vector<DatagramReport>& reports);

// Waits for all ranks, as long as they take. `ranks_per_host`: see MpiProcess::Start.
absl::StatusOr<MpiWorld> StartMpi(int ranks_per_host);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_MPI_WORLD_H_
