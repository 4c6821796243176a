// Programs of several ranks run by tests under the real mpirun, and what happens to single ranks.

#ifndef DTNN_APPS_TESTING_MPI_JOB_H_
#define DTNN_APPS_TESTING_MPI_JOB_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/testing/process.h"

namespace dtnn::testing {

struct MpiJobOptions {
  int ranks = 2;
  std::string folders = {};  // rank r stands in folder r of this one; empty: all where the test is
  // Ranks live on when one has died; otherwise mpirun ends them.
  bool recovery = false;
  // One more argument of one rank.
  int odd_rank = -1;
  std::string odd_argument = {};
};

// Where tests run, in a container as root or not, more ranks than cores; with the settings of
// tools/testing/mpi_environment.sh. Errors and output of all ranks come together; each that ends by
// itself adds "rank R ended with CODE".
class MpiJob {
 public:
  MpiJob(const std::string& program, const std::vector<std::string>& arguments,
         const MpiJobOptions& options);
  ~MpiJob();  // kills what still runs
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  // As Process.
  bool ReadUntil(std::string_view text) { return mpirun_->ReadUntil(text); }
  // To mpirun.
  void Signal(int number) { mpirun_->Signal(number); }
  Outcome Wait() { return mpirun_->Wait(); }

  // Sends a signal to the program of one rank as soon as it runs; false where it never does.
  bool SignalRank(int rank, int number);
  // Kills the program of that rank, if it still runs.
  void KillRank(int rank);

 private:
  std::optional<pid_t> Find(int rank) const;

  std::string program_, tag_;
  std::optional<Process> mpirun_;
};

// The code with which a rank ended, read from a job's output; -1: it did not end by itself.
int RankExitCode(const Outcome& outcome, int rank);

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_MPI_JOB_H_
