// Kills or freezes a rank in every phase of a job. All others must leave by themselves, within
// twice the timeout, with exit code 75, agree on the lost rank, and name it; a frozen rank
// that continues later must leave too.

#ifndef DTNN_COMM_TRANSPORT_TCP_TESTING_FAULT_TESTS_H_
#define DTNN_COMM_TRANSPORT_TCP_TESTING_FAULT_TESTS_H_

#include "comm/transport/tcp/testing/rank_processes.h"

namespace dtnn::testing {

// The program's main, which starts itself as the ranks.
int RunFaultTests(int argc, char** argv, const Join& join);

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TRANSPORT_TCP_TESTING_FAULT_TESTS_H_
