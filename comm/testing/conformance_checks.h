// What the files of the conformance suite share.

#ifndef DTNN_COMM_TESTING_CONFORMANCE_CHECKS_H_
#define DTNN_COMM_TESTING_CONFORMANCE_CHECKS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace dtnn::testing {

// Nanoseconds of the clock that all threads and processes of a host share.
inline double Now() { return double(std::chrono::steady_clock::now().time_since_epoch().count()); }

// A rank checks by the status that it returns.
inline absl::Status Expect(bool condition, const std::string& what) {
  return condition ? absl::OkStatus() : absl::InternalError(what);
}

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TESTING_CONFORMANCE_CHECKS_H_
