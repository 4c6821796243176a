// Programs of tests that run on all ranks of a job, each rank a process.

#ifndef DTNN_COMM_TRANSPORT_TCP_TESTING_RANK_TESTS_H_
#define DTNN_COMM_TRANSPORT_TCP_TESTING_RANK_TESTS_H_

#include <string>

#include "comm/ranks/exchange/exchange_options.h"
#include "comm/ranks/exchange/exchange_process.h"
#include "comm/testing/communicator_conformance.h"
#include "comm/transport/tcp/testing/rank_processes.h"

namespace dtnn::testing {

// The program's main. Without the variables of a rank it starts itself on `least` to `most` ranks
// in turn, and fails where one of them does; as a rank it joins the others and runs the tests.
int RunTestsOnRanks(int argc, char** argv, int least, int most, const Join& join = JoinByTcp());

// The process of the rank that runs the tests.
ExchangeProcess& TestedProcess();

// For the conformance suite: `checked` with all calls checked, whatever a test asks for.
RanksUnderTest TestedRanks(const std::string& name, bool checked, const ExchangeOptions& tcp);

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TRANSPORT_TCP_TESTING_RANK_TESTS_H_
