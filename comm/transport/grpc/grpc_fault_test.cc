// Ranks through rank 0's gRPC server of which one is killed or freezes.

#include "comm/transport/grpc/testing/join_by_grpc.h"
#include "comm/transport/tcp/testing/fault_tests.h"

int main(int argc, char** argv) {
  return dtnn::testing::RunFaultTests(argc, argv, dtnn::testing::JoinByGrpc());
}
