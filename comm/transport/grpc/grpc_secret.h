// How a rank proves to rank 0's server that it belongs to the job.

#ifndef DTNN_COMM_TRANSPORT_GRPC_GRPC_SECRET_H_
#define DTNN_COMM_TRANSPORT_GRPC_GRPC_SECRET_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/relay/datagrams.h"

namespace dtnn {

// For the server's nonce: a recorded one proves nothing.
absl::StatusOr<std::string> ProveToServer(const JobSecret& secret, const Instance& who,
                                          std::string_view nonce);
// PermissionDenied unless it is that.
absl::Status CheckProof(const JobSecret& secret, const Instance& who, std::string_view nonce,
                        std::string_view proof);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_GRPC_GRPC_SECRET_H_
