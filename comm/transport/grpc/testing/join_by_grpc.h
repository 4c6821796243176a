// How a process of a test (comm/transport/tcp/testing/rank_processes.h) joins the others through
// rank 0's gRPC server.

#ifndef DTNN_COMM_TRANSPORT_GRPC_TESTING_JOIN_BY_GRPC_H_
#define DTNN_COMM_TRANSPORT_GRPC_TESTING_JOIN_BY_GRPC_H_

#include <string>

#include "comm/transport/tcp/testing/rank_processes.h"

namespace dtnn::testing {

// `folder`: with files for TLS (comm/transport/tls/testing/host_files.h); empty: without.
Join JoinByGrpc(const std::string& folder = "");

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TRANSPORT_GRPC_TESTING_JOIN_BY_GRPC_H_
