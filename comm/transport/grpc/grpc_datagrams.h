// Messages between ranks through a gRPC server of rank 0 (switchboard.h).

#ifndef DTNN_COMM_TRANSPORT_GRPC_GRPC_DATAGRAMS_H_
#define DTNN_COMM_TRANSPORT_GRPC_GRPC_DATAGRAMS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/relay/datagrams.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tls/tls_stream.h"

namespace dtnn {

struct GrpcOptions {
  int size = 1;
  // Other ranks exchange no messages: rank 0 drops those between them, and holds no more than its
  // own for a slow one.
  bool only_with_rank_0 = false;
  Endpoint address;   // of rank 0
  int listener = -1;  // of rank 0: a socket that listens there already, which it takes over
  std::optional<TlsFiles> tls = {};  // nothing: not encrypted but for what relay_link.h does
  // What messages call this process and rank 0, where a rank says nothing to people; empty: "rank
  // 3" and "rank 0".
  std::string self = {}, server = {};
};

// The errors of files name them.
absl::StatusOr<std::unique_ptr<Datagrams>> MakeGrpcDatagrams(const GrpcOptions& options,
                                                             const JobSecret& secret);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_GRPC_GRPC_DATAGRAMS_H_
