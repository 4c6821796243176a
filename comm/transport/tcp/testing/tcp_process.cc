#include "comm/transport/tcp/testing/tcp_process.h"

#include <utility>

#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ExchangeProcess>> StartTcpProcess(
    const CommunicatorOptions& options, const RendezvousOptions& rendezvous,
    const JobSecret& secret) {
  DTNN_ASSIGN_OR_RETURN(Mesh mesh, Meet(rendezvous, secret, options));
  return std::make_unique<ExchangeProcess>(options, std::move(mesh));
}

}  // namespace dtnn
