#include "comm/transport/grpc/testing/join_by_grpc.h"

#include <memory>
#include <utility>

#include "comm/transport/grpc/grpc_datagrams.h"
#include "comm/transport/relay/relay_mesh.h"
#include "comm/transport/tls/testing/host_files.h"
#include "tensor/status_macros.h"

namespace dtnn::testing {

Join JoinByGrpc(const std::string& folder) {
  return [folder](const CommunicatorOptions& options)
             -> absl::StatusOr<std::unique_ptr<ExchangeProcess>> {
    const JobEnvironment job = JobOfRank();
    GrpcOptions grpc = {.size = job.rendezvous.size,
                        .address = job.rendezvous.address,
                        .listener = job.rendezvous.listener};
    if (!folder.empty()) {
      const TlsFiles files = HostFiles(folder);
      grpc.tls = {.certificate = files.certificate, .key = files.key, .authority = files.authority};
    }
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Datagrams> datagrams,
                          MakeGrpcDatagrams(grpc, job.secret));
    DTNN_ASSIGN_OR_RETURN(Mesh mesh, MeetThrough(std::move(datagrams), job.rendezvous.rank,
                                                 job.rendezvous.size, job.secret, options));
    return std::make_unique<ExchangeProcess>(options, std::move(mesh));
  };
}

}  // namespace dtnn::testing
