// Ranks that are processes of a test's own program: it starts itself again, once per rank,
// with the environment that a launcher would set, at a port that the system chooses.

#ifndef DTNN_COMM_TRANSPORT_TCP_TESTING_RANK_PROCESSES_H_
#define DTNN_COMM_TRANSPORT_TCP_TESTING_RANK_PROCESSES_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/transport/tcp/testing/tcp_process.h"

namespace dtnn::testing {

class RankProcesses {
 public:
  // `arguments`: of all ranks.
  RankProcesses(int ranks, const std::vector<std::string>& arguments);
  ~RankProcesses();  // kills what still runs
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  void Signal(int rank, int number);
  // Waits for its end: the exit code, or 128 + n after signal n.
  int Wait(int rank);

 private:
  std::vector<pid_t> pids_;
};

// Whether this process is one of those.
bool IsRankProcess();
// How such a process joins the others, as its environment says.
using Join = std::function<absl::StatusOr<std::unique_ptr<ExchangeProcess>>(
    const CommunicatorOptions& options)>;
// By TCP, within one host too.
Join JoinByTcp(const StreamMaker& stream = {});
// Through memory of this host; an error where they cannot.
Join JoinBySharedMemory();
// The environment's words for it.
JobEnvironment JobOfRank();

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TRANSPORT_TCP_TESTING_RANK_PROCESSES_H_
