// For small programs that have nothing better to do with an error than to end:
//
//   auto net = Must(Build());    // the value, or the message on stderr and exit code 1
//   Must(session->Fit(data));    // likewise for a status

#ifndef DTNN_TENSOR_MUST_H_
#define DTNN_TENSOR_MUST_H_

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

inline void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(EXIT_FAILURE);
}

template <class T>
T Must(absl::StatusOr<T> value) {
  Must(value.status());
  return *std::move(value);
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_MUST_H_
