// Joins the other ranks of a job by TCP.

#ifndef DTNN_COMM_TRANSPORT_TCP_TESTING_TCP_PROCESS_H_
#define DTNN_COMM_TRANSPORT_TCP_TESTING_TCP_PROCESS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/exchange/exchange_process.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/tcp/rendezvous.h"

namespace dtnn {

// The options' timeout, warning and interruption hold for start and end. Errors: rendezvous.h.
absl::StatusOr<std::unique_ptr<ExchangeProcess>> StartTcpProcess(
    const CommunicatorOptions& options, const RendezvousOptions& rendezvous,
    const JobSecret& secret);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_TESTING_TCP_PROCESS_H_
