// How many connections this process may hold.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_OPEN_FILES_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_OPEN_FILES_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace dtnn::federation {

// Files beside those of connections: callers that are not recognised yet, or are refused, and what
// a program opens.
inline constexpr int64_t kOtherFiles = 320;

// `wanted`, or as many as the limit of open files allows, which it raises as far as the system
// lets it; `files`: of a connection. ResourceExhausted where these are fewer than `least`.
absl::StatusOr<int64_t> ConnectionsThatFilesAllow(int64_t wanted, int64_t least, int64_t files = 1);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_OPEN_FILES_H_
