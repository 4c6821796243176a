#include "comm/job/rank_process.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "comm/job/exit_code.h"
#include "comm/job/job_process.h"
#include "comm/job/thread_share.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// Not by exit(), where MPI's way out waits for others.
[[noreturn]] void Leave(const absl::Status& status, const RankProcessOptions& options,
                        std::ostream& out, std::ostream& err) {
  out.flush();
  _exit(ReportStatus(status, options.program, err));
}

void TakeShareOfThreads(const Communicator& communicator, const RankProcessOptions& options,
                        std::ostream& err) {
  const ThreadShare share = ShareThreadsHere(communicator.place().node_size);
  SetNumThreads(share.threads);
  if (share.warning.empty() || communicator.rank() > 0) return;
  err << StrCat(options.program, ": warning: ", share.warning, "\n") << std::flush;
}

}  // namespace

absl::Status RunAsRank(const LaunchPlace& place, const RankProcessOptions& options,
                       std::ostream& out, std::ostream& err,
                       absl::FunctionRef<absl::Status(Communicator&)> work) {
  absl::StatusOr<std::unique_ptr<JobProcess>> started =
      StartJobProcess(place, options.communicator);
  if (absl::IsDeadlineExceeded(started.status()) || absl::IsUnavailable(started.status())) {
    Leave(options.when_lost(started.status()), options, out, err);
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<JobProcess> process, std::move(started));
  absl::StatusOr<std::unique_ptr<Communicator>> connected =
      process->Connect(options.communicator, options.sums_in_rank_order);
  if (!connected.ok()) {
    process->Flush();
    Leave(options.when_lost(connected.status()), options, out, err);
  }
  std::unique_ptr<Communicator> communicator = *std::move(connected);
  TakeShareOfThreads(*communicator, options, err);
  absl::Status status = work(*communicator);
  const bool cancelled = absl::IsCancelled(status);
  // The launcher kills all ranks once one has left with an error: say it while nobody has.
  const int exit_code = ReportStatus(status, options.program, err);
  if (!status.ok()) status = WithExitCode(absl::Status(status.code(), ""), exit_code);
  // A launcher that has sent a signal takes no part in MPI_Finalize. It ends all ranks soon after
  // one has left: rank 0, which may be writing a file, must be the first.
  if (cancelled && communicator->rank() > 0) communicator->AwaitDeparture(0);
  communicator = nullptr;  // who waits for this rank to leave need wait no longer
  if (cancelled || !process->finalizable()) {
    process->Flush();
    Leave(status, options, out, err);
  }
  const absl::Status finished = process->Finish();
  if (!finished.ok()) {
    const absl::Status lost = options.when_lost(finished);
    Leave(status.ok() ? lost : WithExitCode(lost, exit_code), options, out, err);
  }
  return status;
}

}  // namespace dtnn
