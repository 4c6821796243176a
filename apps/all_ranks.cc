#include "apps/all_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "apps/benchmark_run.h"
#include "apps/exit_code.h"
#include "apps/interrupt.h"
#include "apps/ranks.h"
#include "apps/thread_share.h"
#include "comm/mpi/mpi_process.h"
#include "tensor/parallel_for.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

CommunicatorOptions CommunicatorOptionsOf(const Options& options, std::ostream& err) {
  const auto timeout = std::chrono::milliseconds(int64_t(options.comm_timeout * 1000));
  return {
      .timeout = timeout,
      .warn_after = timeout / 5,
      .warn = [&err](std::string_view line) { err << "benchmark: warning: " << line << std::endl; },
      .interrupted = [] { return Interrupt::Last() != 0; }};
}

int ExitCodeOfLoss(const Options& options) {
  return options.checkpoint_dir.empty() ? kExitFailed : kExitPeerLost;
}

// The error with the rank that it is of; without a text where another rank tells the user.
absl::Status InNameOfRank(const Communicator& communicator, const Options& options,
                          const absl::Status& status) {
  if (status.ok()) return status;
  const int rank = communicator.rank();
  const std::vector<int> lost = communicator.lost();
  const bool among_lost = std::ranges::count(lost, rank) > 0;
  const bool told = absl::IsAborted(status) ||  // by the rank that could not begin (Agree)
                    (absl::IsCancelled(status) && rank > 0) ||
                    (!lost.empty() && !among_lost && rank != LowestRankLeft(communicator));
  // Who gave up did so for a reason of its own; who was given up by others did not.
  const bool peer = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  const bool loss = !lost.empty() && (!among_lost || peer);
  return WithExitCode(
      absl::Status(status.code(),
                   told ? "" : absl::StrCat("rank ", rank, ": ", std::string(status.message()))),
      loss ? ExitCodeOfLoss(options) : ExitCodeOf(status));
}

// Ends the process without MPI, whose ways out wait for others.
[[noreturn]] void Leave(const absl::Status& status, std::ostream& out, std::ostream& err) {
  out.flush();
  _exit(ReportStatus(status, "benchmark", err));
}

}  // namespace

absl::Status RunOnAllRanks(const Options& options, const LaunchPlace& place, std::ostream& out,
                           std::ostream& err) {
  if (options.parallel == "sequential" && place.rank > 0) return absl::OkStatus();
  if (options.parallel == "sequential" && place.ranks > 1) {
    err << "benchmark: warning: " << place.ranks
        << " processes were started, but --parallel=sequential trains in one; the others end here. "
           "--parallel=data shares the work among them\n";
  }
  if (options.parallel == "sequential" || !place.launched) {
    return RunBenchmark(options, nullptr, out);
  }
  const CommunicatorOptions comm = CommunicatorOptionsOf(options, err);
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<MpiProcess> process,
                        MpiProcess::Start(comm, ExitCodeOfLoss(options)));
  if (process->size() != place.ranks) {
    return absl::FailedPreconditionError(
        absl::StrCat("the launcher has started ", place.ranks, " processes, but Open MPI knows ",
                     process->size(), "; start them with Open MPI's mpirun"));
  }
  absl::StatusOr<std::unique_ptr<Communicator>> communicator =
      process->Connect(comm, {.buffers = options.use_mpi_buffers != "False"});
  if (!communicator.ok()) {
    Leave(WithExitCode(communicator.status(), ExitCodeOfLoss(options)), out, err);
  }
  const ThreadShare share = ShareThreadsHere((*communicator)->node_size());
  SetNumThreads(share.threads);
  if (!share.warning.empty() && (*communicator)->rank() == 0) {
    err << "benchmark: warning: " << share.warning << "\n";
  }
  const absl::Status status =
      InNameOfRank(**communicator, options, RunBenchmark(options, communicator->get(), out));
  // A launcher that has sent a signal takes no part in MPI_Finalize. It ends all ranks soon after
  // one has left: rank 0, which may be writing a checkpoint, must be the first.
  const bool cancelled = absl::IsCancelled(status);
  if (cancelled && (*communicator)->rank() > 0) (*communicator)->AwaitDeparture(0);
  *communicator = nullptr;  // who waits for this rank to leave need wait no longer
  if (cancelled || !process->finalizable()) Leave(status, out, err);
  return status;
}

}  // namespace dtnn
