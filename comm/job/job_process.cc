#include "comm/job/job_process.h"

#include <utility>

#include "comm/job/exit_code.h"
#include "comm/mpi/mpi_process.h"
#include "comm/tcp/tcp_job.h"
#include "comm/tcp/tcp_process.h"
#include "comm/tls/tls_stream.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

MpiOptions OwnOptions(const MpiProcess&, bool sums_in_rank_order) {
  return {.buffers = !sums_in_rank_order};
}
ExchangeOptions OwnOptions(const ExchangeProcess&, bool sums_in_rank_order) {
  return {.sums_in_rank_order = sums_in_rank_order};
}

template <typename Process>
class Of : public JobProcess {
 public:
  explicit Of(std::unique_ptr<Process> process) : process_(std::move(process)) {}

  int size() const override { return process_->size(); }
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(const CommunicatorOptions& options,
                                                        bool sums_in_rank_order) override {
    return process_->Connect(options, OwnOptions(*process_, sums_in_rank_order));
  }
  bool finalizable() const override { return process_->finalizable(); }
  absl::Status Finish() override { return process_->Finish(); }
  void Flush() override { process_->Flush(); }

 private:
  const std::unique_ptr<Process> process_;
};

absl::StatusOr<std::unique_ptr<JobProcess>> StartMpi(const LaunchPlace& place,
                                                     const CommunicatorOptions& options) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<MpiProcess> process, MpiProcess::Start(options));
  if (process->size() != place.ranks) {
    return FailedPrecondition("the launcher started ", place.ranks,
                              " processes, but Open MPI counts ", process->size(),
                              "; start them with Open MPI's mpirun");
  }
  return std::make_unique<Of<MpiProcess>>(std::move(process));
}

absl::StatusOr<std::unique_ptr<JobProcess>> StartTcp(const LaunchPlace& place,
                                                     const CommunicatorOptions& options) {
  absl::StatusOr<TcpJob> job = FindTcpJob(place);
  if (!job.ok()) return WithExitCode(job.status(), kExitUsage);
  if (!place.launched) {
    return UsageError("environment: neither ", kRankVariable, " nor ", kSizeVariable,
                      " is set, and no launcher has numbered this process: start the ranks with "
                      "launch, or set both");
  }
  if (job->tls) {
    absl::StatusOr<StreamMaker> streams = TlsStreams({.certificate = job->tls->certificate,
                                                      .key = job->tls->key,
                                                      .authority = job->tls->authority});
    if (!streams.ok()) return WithExitCode(streams.status(), kExitUsage);
    job->rendezvous.stream = *std::move(streams);
  }
  if (!job->warning.empty() && place.rank == 0 && options.warn) options.warn(job->warning);
  absl::StatusOr<std::unique_ptr<ExchangeProcess>> process =
      StartTcpProcess(options, job->rendezvous, job->secret);
  if (absl::IsInvalidArgument(process.status()) || absl::IsPermissionDenied(process.status())) {
    return WithExitCode(process.status(), kExitUsage);
  }
  DTNN_RETURN_IF_ERROR(process.status());
  return std::make_unique<Of<ExchangeProcess>>(*std::move(process));
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobProcess>> StartJobProcess(const LaunchPlace& place,
                                                            const CommunicatorOptions& options) {
  switch (place.transport) {
    case Transport::kMpi:
      return StartMpi(place, options);
    case Transport::kTcp:
      return StartTcp(place, options);
    case Transport::kUnknown:
      break;
  }
  return WithExitCode(CheckTransport(), kExitUsage);
}

}  // namespace dtnn
