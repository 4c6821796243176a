// Which ranks' processes on this host have ended or are stopped, found out without asking them.
//
// For a rank that cannot use MPI any more, or not yet. It knows nothing of processes on other
// hosts, or in other namespaces of process ids.

#ifndef DTNN_COMM_MPI_PEER_PROCESSES_H_
#define DTNN_COMM_MPI_PEER_PROCESSES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace dtnn {

// Can be sent as it is.
struct ProcessId {
  uint64_t host = 0;  // the same for processes that see each other
  int64_t pid = 0;
  uint64_t started = 0;  // in the host's clock: ids are used again

  static ProcessId Mine();
  // Ended, or only not yet collected by its parent.
  bool Ended() const;
};

// The ranks whose processes have ended, sorted. `processes` is by rank.
std::vector<int> EndedRanks(const std::vector<ProcessId>& processes);

// Which ranks of the same job, that is processes of this program with the job's name in their
// environment, cannot go on: "rank 1 is stopped; ranks 2, 3 are not to be seen on this host". Empty
// where none is known to. Who is not to be seen is known by name only where all ranks are on this
// host, and where it shares the processes' numbers with them.
std::string DescribeAbsentRanks();

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_PEER_PROCESSES_H_
