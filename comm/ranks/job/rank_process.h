// Runs this process as one rank of a job: joins the others, works, leaves. The job's processes were
// started by mpirun, or by apps/launch and meet by TCP (comm/launch_place.h).

#ifndef DTNN_COMM_RANKS_JOB_RANK_PROCESS_H_
#define DTNN_COMM_RANKS_JOB_RANK_PROCESS_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/elastic_rank.h"

namespace dtnn {

struct RankProcessOptions {
  std::string program = {};  // for messages
  CommunicatorOptions communicator = {};
  bool sums_in_rank_order = false;  // job_process.h
  // What is reported, and with which exit code, where the others cannot be reached at the start or
  // at the end, which is the status that it is given.
  std::function<absl::Status(const absl::Status&)> when_lost = [](const absl::Status& status) {
    return status;
  };
};

// Runs `work` with this rank's communicator and its share of the machine's threads. What it returns
// is returned, but for an error's message, which is written to `err` before any rank leaves. Where
// the ranks broke apart or a signal is the reason (Cancelled), ends the process at once: MPI could
// not be left in order. Errors of a process that is not a rank of a job: job_process.h.
absl::Status RunAsRank(const LaunchPlace& place, const RankProcessOptions& options,
                       std::ostream& out, std::ostream& err,
                       absl::FunctionRef<absl::Status(Communicator&)> work);

// The same over one generation of ranks after another (elastic_rank.h), over TCP: `work` is called
// again, with the next one's communicator, as often as it has joined one by ElasticRank::Join. When
// it returns OK otherwise, the run has come to its end.
absl::Status RunAsElasticRank(const LaunchPlace& place, const RankProcessOptions& options,
                              std::ostream& out, std::ostream& err,
                              absl::FunctionRef<absl::Status(Communicator&, ElasticRank&)> work);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_RANK_PROCESS_H_
