// What must hold for every implementation of Communicator, as a parameterized GoogleTest suite.
//
// A test of an implementation links it and says how ranks are made:
//   INSTANTIATE_TEST_SUITE_P(Local, CommunicatorConformance, ::testing::Values(...),
//                            ConformanceName);
//   INSTANTIATE_TEST_SUITE_P(Local, CommunicatorPatience, ...);  // of one of those values
// Where ranks are processes, every process runs the same tests in the same order.

#ifndef DTNN_COMM_TESTING_COMMUNICATOR_CONFORMANCE_H_
#define DTNN_COMM_TESTING_COMMUNICATOR_CONFORMANCE_H_

#include <chrono>
#include <functional>
#include <ostream>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "comm/communicator.h"
#include "gtest/gtest.h"

namespace dtnn {

struct RanksUnderTest {
  std::string name;  // of the variant: letters and digits
  int size = 1;      // ranks
  int hosts = 1;     // with equally many ranks each, one host after another
  // Calls the body on those ranks of a new group that live in this process, each on a communicator
  // of its own, and returns their first error.
  std::function<absl::Status(absl::FunctionRef<absl::Status(Communicator&)>,
                             const CommunicatorOptions&)>
      run;
  bool sums_in_rank_order = false;
};

class CommunicatorConformance : public ::testing::TestWithParam<RanksUnderTest> {
 protected:
  int ranks() const { return GetParam().size; }
  // A hang tells who waits for whom before a test's own time is up.
  static CommunicatorOptions Options() {
    CommunicatorOptions options;
    options.timeout = std::chrono::minutes(1);
    return options;
  }
  absl::Status Run(absl::FunctionRef<absl::Status(Communicator&)> body,
                   const CommunicatorOptions& options = Options()) const {
    return GetParam().run(body, options);
  }
};

// What waits for seconds, whichever way a sum takes: for one of the ways is enough.
class CommunicatorPatience : public CommunicatorConformance {};

inline std::string ConformanceName(const ::testing::TestParamInfo<RanksUnderTest>& info) {
  return info.param.name + std::to_string(info.param.size);
}

inline void PrintTo(const RanksUnderTest& ranks, std::ostream* out) {
  *out << ranks.size << " ranks, " << ranks.name;
}

}  // namespace dtnn

#endif  // DTNN_COMM_TESTING_COMMUNICATOR_CONFORMANCE_H_
