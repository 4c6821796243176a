#include "comm/ranks/job/job_process.h"

#include <utility>

#include "comm/ranks/exchange/exchange_process.h"
#include "comm/ranks/job/elastic_rank.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/ranks/job/job_streams.h"
#include "comm/ranks/mpi/mpi_process.h"
#include "comm/transport/grpc/grpc_datagrams.h"
#include "comm/transport/mqtt/mqtt_datagrams.h"
#include "comm/transport/relay/relay_mesh.h"
#include "comm/transport/tcp/rendezvous.h"
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
  absl::Status Finish(const absl::Status& /*work*/) override { return process_->Finish(); }
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

absl::StatusOr<Mesh> MeetByTcp(const JobEnvironment& job, const CommunicatorOptions& options) {
  RendezvousOptions rendezvous = job.rendezvous;
  DTNN_ASSIGN_OR_RETURN(rendezvous.stream, StreamsOf(job));
  return Meet(rendezvous, job.secret, options);
}

// One generation of a job whose ranks come and go, for work that ends with it.
class OfElastic : public Of<ExchangeProcess> {
 public:
  OfElastic(std::unique_ptr<ExchangeProcess> process, std::unique_ptr<ElasticRank> rank)
      : Of(std::move(process)), rank_(std::move(rank)) {}

  absl::Status Finish(const absl::Status& work) override {
    // If one has failed, all have: it says so before any other can say that it is done.
    if (!work.ok()) rank_->Finish(/*complete=*/false);
    absl::Status finished = Of::Finish(work);
    if (finished.ok() && work.ok()) rank_->Finish();
    return finished;
  }

 private:
  const std::unique_ptr<ElasticRank> rank_;
};

absl::StatusOr<std::unique_ptr<JobProcess>> StartElastic(const JobEnvironment& job,
                                                         const CommunicatorOptions& options) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ElasticRank> rank, ElasticRank::Create(job, options));
  DTNN_ASSIGN_OR_RETURN(const bool joined, rank->Join({}));
  if (!joined) return FailedPrecondition("the run ended before this process could take part");
  auto process = std::make_unique<ExchangeProcess>(options, *rank->TakeMesh());
  return std::make_unique<OfElastic>(std::move(process), std::move(rank));
}

absl::StatusOr<std::unique_ptr<Datagrams>> MakeDatagrams(Transport transport,
                                                         const JobEnvironment& job) {
  const RendezvousOptions& rendezvous = job.rendezvous;
  if (transport == Transport::kGrpc) {
    GrpcOptions options = {
        .size = rendezvous.size, .address = rendezvous.address, .listener = rendezvous.listener};
    if (job.tls) {
      options.tls = {.certificate = job.tls->certificate,
                     .key = job.tls->key,
                     .authority = job.tls->authority};
    }
    return MakeGrpcDatagrams(options, job.secret);
  }
  MqttOptions options = {
      .broker = rendezvous.address, .user = job.broker_user, .password = job.broker_password};
  if (job.tls) {
    options.tls = {
        .authority = job.tls->authority, .certificate = job.tls->certificate, .key = job.tls->key};
  }
  return MakeMqttDatagrams(options, job.secret);
}

absl::StatusOr<Mesh> MeetBy(Transport transport, const JobEnvironment& job,
                            const CommunicatorOptions& options) {
  if (transport == Transport::kTcp) return MeetByTcp(job, options);
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Datagrams> datagrams, MakeDatagrams(transport, job));
  return MeetThrough(std::move(datagrams), job.rendezvous.rank, job.rendezvous.size, job.secret,
                     options);
}

absl::StatusOr<std::unique_ptr<JobProcess>> StartWithoutMpi(const LaunchPlace& place,
                                                            const CommunicatorOptions& options) {
  const absl::StatusOr<JobEnvironment> job = FindJob(place);
  if (!job.ok()) return OfEnvironment(job.status());
  if (!place.launched && job->elastic.empty()) {
    return UsageError("environment: neither ", kRankVariable, " nor ", kSizeVariable,
                      " is set, and no launcher has numbered this process: start the ranks with "
                      "launch, or set both");
  }
  if (!job->warning.empty() && place.rank == 0 && options.warn) options.warn(job->warning);
  if (!job->elastic.empty()) {
    if (place.transport != Transport::kTcp) {
      return UsageError("environment: ", kElasticVariable, "=", job->elastic, ": needs ",
                        kTransportVariable, "=tcp, not ", Name(place.transport));
    }
    return StartElastic(*job, options);
  }
  absl::StatusOr<Mesh> mesh = MeetBy(place.transport, *job, options);
  if (absl::IsInvalidArgument(mesh.status()) || absl::IsPermissionDenied(mesh.status())) {
    return WithExitCode(mesh.status(), kExitUsage);
  }
  DTNN_RETURN_IF_ERROR(mesh.status());
  return std::make_unique<Of<ExchangeProcess>>(
      std::make_unique<ExchangeProcess>(options, *std::move(mesh)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobProcess>> StartJobProcess(const LaunchPlace& place,
                                                            const CommunicatorOptions& options) {
  switch (place.transport) {
    case Transport::kMpi:
      return StartMpi(place, options);
    case Transport::kTcp:
    case Transport::kGrpc:
    case Transport::kMqtt:
      return StartWithoutMpi(place, options);
    case Transport::kUnknown:
      break;
  }
  return WithExitCode(CheckTransport(), kExitUsage);
}

}  // namespace dtnn
