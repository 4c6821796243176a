// The error of a system call that opens a descriptor.

#ifndef DTNN_COMM_DESCRIPTORS_SYSTEM_ERROR_H_
#define DTNN_COMM_DESCRIPTORS_SYSTEM_ERROR_H_

#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

// `error` is errno. ResourceExhausted where this process or host has no more files or memory, so
// that trying again is of no use; Unavailable otherwise.
absl::Status SystemError(std::string_view what, int error);

}  // namespace dtnn

#endif  // DTNN_COMM_DESCRIPTORS_SYSTEM_ERROR_H_
