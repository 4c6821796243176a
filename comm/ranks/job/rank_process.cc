#include "comm/ranks/job/rank_process.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "comm/ranks/exchange/exchange_process.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/ranks/job/job_process.h"
#include "comm/ranks/job/thread_share.h"
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

absl::Status Finish(JobProcess& process, const absl::Status& work) { return process.Finish(work); }
// The rank of it tells the coordinator by itself (RunAsElasticRank).
absl::Status Finish(ExchangeProcess& process, const absl::Status& /*work*/) {
  return process.Finish();
}

// What follows the work, whatever the process is.
template <typename Process>
absl::Status End(Process& process, std::unique_ptr<Communicator> communicator, absl::Status status,
                 const RankProcessOptions& options, std::ostream& out, std::ostream& err) {
  const bool cancelled = absl::IsCancelled(status);
  // The launcher kills all ranks once one has left with an error: say it while nobody has.
  const int exit_code = ReportStatus(status, options.program, err);
  if (!status.ok()) status = WithExitCode(absl::Status(status.code(), ""), exit_code);
  // A launcher that has sent a signal takes no part in MPI_Finalize. It ends all ranks soon after
  // one has left: rank 0, which may be writing a file, must be the first.
  if (cancelled && communicator->rank() > 0) communicator->AwaitDeparture(0);
  communicator = nullptr;  // ranks that wait for this one to leave need wait no longer
  if (cancelled || !process.finalizable()) {
    process.Flush();
    Leave(status, options, out, err);
  }
  const absl::Status finished = Finish(process, status);
  if (!finished.ok()) {
    const absl::Status lost = options.when_lost(finished);
    Leave(status.ok() ? lost : WithExitCode(lost, exit_code), options, out, err);
  }
  return status;
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
  const absl::Status status = work(*communicator);
  return End(*process, std::move(communicator), status, options, out, err);
}

absl::Status RunAsElasticRank(const LaunchPlace& place, const RankProcessOptions& options,
                              std::ostream& out, std::ostream& err,
                              absl::FunctionRef<absl::Status(Communicator&, ElasticRank&)> work) {
  const absl::StatusOr<JobEnvironment> job = FindJob(place);
  if (!job.ok()) return OfEnvironment(job.status());
  if (!job->warning.empty() && place.rank == 0 && options.communicator.warn) {
    options.communicator.warn(job->warning);
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ElasticRank> rank,
                        ElasticRank::Create(*job, options.communicator));
  absl::StatusOr<bool> joined = rank->Join({});
  while (true) {
    if (ExitCodeOf(joined.status()) == kExitUsage) return joined.status();
    if (!joined.ok()) Leave(options.when_lost(joined.status()), options, out, err);
    if (!*joined) {
      out << StrCat(options.program, ": the run has ended without this process\n") << std::flush;
      return absl::OkStatus();
    }
    ExchangeProcess process(options.communicator, *rank->TakeMesh());
    absl::StatusOr<std::unique_ptr<Communicator>> communicator =
        process.Connect(options.communicator, {.sums_in_rank_order = options.sums_in_rank_order});
    if (!communicator.ok()) {  // one is lost already
      process.Flush();
      joined = rank->JoinAgain();
      continue;
    }
    TakeShareOfThreads(**communicator, options, err);
    const absl::Status status = work(**communicator, *rank);
    joined = true;
    if (rank->has_next()) continue;
    if (status.ok() || absl::IsCancelled(status)) rank->Finish(status.ok());
    if (status.ok()) {  // all have done their work: nobody need be waited for
      communicator->reset();
      process.Finish().IgnoreError();
      return status;
    }
    return End(process, *std::move(communicator), status, options, out, err);
  }
}

}  // namespace dtnn
