// Ranks that share memory, of which one is killed or freezes.

#include "comm/transport/tcp/testing/fault_tests.h"

int main(int argc, char** argv) {
  return dtnn::testing::RunFaultTests(argc, argv, dtnn::testing::JoinBySharedMemory());
}
