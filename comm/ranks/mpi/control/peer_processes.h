// Which ranks' processes on this host are gone or stopped, found out without asking them.
//
// For a rank that cannot ask the others yet, or no longer: at MPI's start and end. It knows nothing
// of processes on other hosts, or in other namespaces of process ids.

#ifndef DTNN_COMM_RANKS_MPI_CONTROL_PEER_PROCESSES_H_
#define DTNN_COMM_RANKS_MPI_CONTROL_PEER_PROCESSES_H_

#include <string>

namespace dtnn {

// Which ranks of the same job, that is processes of this program with the job's name in their
// environment, cannot continue: "rank 1 is stopped; ranks 2, 3 are not found on this host".
// Empty where none is known to. Ranks that are not found are known only where all ranks are on this
// host, and where it shares the processes' numbers with them.
std::string DescribeAbsentRanks();

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_CONTROL_PEER_PROCESSES_H_
