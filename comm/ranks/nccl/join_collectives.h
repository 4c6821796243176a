// Makes the ranks of a communicator a group that sums memory of GPUs by itself
// (kernels/collective/device_collectives.h): NCCL's, or that of simulated GPUs, whose ranks are
// threads. The communicator carries the group's id, and still carries all that lies in the
// host's memory.

#ifndef DTNN_COMM_RANKS_NCCL_JOIN_COLLECTIVES_H_
#define DTNN_COMM_RANKS_NCCL_JOIN_COLLECTIVES_H_

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "kernels/collective/device_collectives.h"

namespace dtnn {

// All ranks together, each with a context of its own, which like the communicator must outlive the
// group; `timeout` is that of joining and of every sum, and no sum waits for ranks that the
// communicator has lost. FailedPrecondition, on all ranks, where two ranks of a host
// have one GPU. An error when a rank joins is returned on that rank alone, and the caller passes it
// to the others: FailedPrecondition for ranks with simulated GPUs that are processes.
absl::StatusOr<std::unique_ptr<DeviceCollectives>> JoinCollectives(
    Communicator& communicator, DeviceContext& context, std::chrono::milliseconds timeout);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_NCCL_JOIN_COLLECTIVES_H_
