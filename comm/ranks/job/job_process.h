// This process as one of a job's, whatever carries their bytes: the only place that knows which
// transports there are.

#ifndef DTNN_COMM_RANKS_JOB_JOB_PROCESS_H_
#define DTNN_COMM_RANKS_JOB_JOB_PROCESS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/launch_place.h"

namespace dtnn {

class JobProcess {
 public:
  virtual ~JobProcess() = default;

  virtual int size() const = 0;
  // All ranks call it together. Must not outlive this object. `sums_in_rank_order`: every
  // all-reduce gathers all ranks' tensors and adds them in the order of ranks: slow, p times the
  // memory, and the same bits with every transport.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Connect(const CommunicatorOptions& options,
                                                                bool sums_in_rank_order) = 0;
  // False once a communicator broke.
  virtual bool finalizable() const = 0;
  // Waits for all ranks, unless it is not finalizable. No call may follow. `work`: how this rank's
  // work has ended, for the coordinator of a job whose ranks come and go.
  virtual absl::Status Finish(const absl::Status& work) = 0;
  // Messages on their way have a moment, for a process that leaves without an end in order.
  virtual void Flush() = 0;
};

// Meets the others, with the patience of the options. DeadlineExceeded or Unavailable where they
// do not come: the process is to leave by _exit then. What the environment says wrong, or another
// job at that address, is a usage error. FailedPrecondition where the launcher is not Open MPI's.
absl::StatusOr<std::unique_ptr<JobProcess>> StartJobProcess(const LaunchPlace& place,
                                                            const CommunicatorOptions& options);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_JOB_PROCESS_H_
