// A process of a sweep.

#ifndef DTNN_APPS_SWEEP_CHILD_H_
#define DTNN_APPS_SWEEP_CHILD_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Starts a program, whose output and errors are appended to `log`. It gets SIGTERM when the thread
// that started it ends. `threads`: OMP_NUM_THREADS, unless the environment says it; 0: as it is.
absl::StatusOr<pid_t> StartChild(const std::vector<std::string>& command, const std::string& log,
                                 int threads);

// One that has ended, with its exit code, 128 + n after signal n; waits up to a moment for one.
struct EndedChild {
  pid_t pid;
  int exit_code;
};
std::optional<EndedChild> AwaitChild();

}  // namespace dtnn

#endif  // DTNN_APPS_SWEEP_CHILD_H_
