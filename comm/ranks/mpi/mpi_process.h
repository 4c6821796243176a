// This process as a rank of an MPI job: MPI_Init, MPI_Finalize, and communicators over all ranks.
//
// One per process, from main's begin to its end; under mpirun it has mpirun's ranks, otherwise it
// is alone. All MPI calls are made by a thread of their own (mpi_thread.h). Starting and ending
// wait for all ranks, as long as the options say.
//
// Once a communicator broke, or the start or the end did not return, MPI_Finalize would wait for
// ranks that are gone; it is skipped then, and finalizable() is false: such a process leaves by
// _exit after its last words, because what MPI does at exit() may hang too. mpirun sees a rank that
// ends without MPI_Finalize and ends the others (SIGTERM, SIGKILL about a second later); a rank
// that must not be cut off is waited for with Communicator::AwaitDeparture.
//
// Communicators: everything communicator.h says, and
//  - a timeout counts the whole wait, the transfer included;
//  - calls are checked only where the options ask for it;
//  - a sum's order is Open MPI's, and depends on how many ranks are on each host (same bits on all
//    ranks, and in every run with as many ranks in the same places);
//  - after an error MPI may still write to the tensors of calls that were on their way.
// SIGPIPE is ignored where nobody handles it: a peer that dies must not end this rank.
// Environment variables that Open MPI reads (OMPI_MCA_*) are set where the user has set none:
// comm/ranks/mpi/README.md says which.

#ifndef DTNN_COMM_RANKS_MPI_MPI_PROCESS_H_
#define DTNN_COMM_RANKS_MPI_MPI_PROCESS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/mpi/mpi_options.h"

namespace dtnn {

class Engine;
class MpiThread;

class MpiProcess {
 public:
  // The options' timeout, warning and interruption hold for start and end. After DeadlineExceeded
  // or Unavailable the process is to leave by _exit. `ranks_per_host`: as many successive ranks as
  // are to count as one host, for tests; 0: those that share memory.
  static absl::StatusOr<std::unique_ptr<MpiProcess>> Start(const CommunicatorOptions& options,
                                                           int ranks_per_host = 0);
  // Finishes; where that fails, says so on stderr and ends the process.
  ~MpiProcess();

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }

  // All ranks call it together, with the same MpiOptions and check_calls. Must not outlive the
  // process object. DeadlineExceeded where the others do not come.
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(const CommunicatorOptions& options = {},
                                                        const MpiOptions& mpi = {});

  // False once a communicator broke.
  bool finalizable() const;
  // For tests that break communicators while all ranks live: MPI_Finalize is called all the same.
  void finalize_always() { finalize_always_ = true; }

  // Waits for all ranks and for MPI's end, unless it is not finalizable. Nothing else may follow.
  absl::Status Finish();
  // Messages on their way have a moment, for a process that leaves without an end in order.
  void Flush();

  // For code that calls MPI itself: on the thread that does, until it has.
  void Run(const std::function<void()>& calls);

 private:
  explicit MpiProcess(const CommunicatorOptions& options);

  // The task on MPI's thread. DeadlineExceeded or Unavailable where the options' patience ends
  // first; "`what` did not return ...".
  absl::Status RunInTime(const std::string& what, std::function<void()> task);
  // Unavailable, on all ranks alike, unless datagrams reach every rank from every other.
  absl::Status CheckDatagrams();

  const CommunicatorOptions options_;
  RankPlace place_;
  bool finalize_always_ = false, finished_ = false, stuck_ = false;
  std::unique_ptr<MpiThread> thread_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_MPI_PROCESS_H_
