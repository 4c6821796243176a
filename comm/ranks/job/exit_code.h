// Exit codes of the programs, and how an error reaches the user: one line on stderr,
// `program: message`.
//
// Which code an error deserves is known where it arises, not from its absl code (a corrupt file is
// InvalidArgument too), so it travels with the status: UsageError and WithExitCode attach it,
// ExitCodeOf reads it back.

#ifndef DTNN_COMM_RANKS_JOB_EXIT_CODE_H_
#define DTNN_COMM_RANKS_JOB_EXIT_CODE_H_

#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"  // IWYU pragma: export

namespace dtnn {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
// Wrong flags or variables: nothing was done. A file that they name and that is missing, or cannot
// be read, is kExitFailed: the command line can be right, and work the next time.
inline constexpr int kExitUsage = 2;
// A rank is gone, and a checkpoint is on the disk: --resume continues without it.
inline constexpr int kExitPeerLost = 75;

// The convention of shells for a process that signal `number` ended.
constexpr int ExitCodeOfSignal(int number) { return 128 + number; }

// The same status, carrying an exit code. OK stays OK.
absl::Status WithExitCode(absl::Status status, int exit_code);

// InvalidArgument, of pieces (tensor/errors.h), that ends the program with kExitUsage.
template <typename... Pieces>
absl::Status UsageError(const Pieces&... pieces) {
  return WithExitCode(InvalidArgument(pieces...), kExitUsage);
}

// What a library says of the value of a flag, as a usage error: "--loss-func: there is no loss x".
// Not for the file that a flag names: WithContext.
template <typename T, typename... Pieces>
absl::StatusOr<T> OfFlag(absl::StatusOr<T> value, const Pieces&... flag) {
  if (value.ok()) return value;
  return UsageError(flag..., ": ", value.status().message());
}

// What FindJob says of the environment: a usage error, unless a file that a variable names cannot
// be read.
absl::Status OfEnvironment(const absl::Status& status);

// The code that `status` carries; `otherwise` for errors that carry none; kExitDone when OK.
int ExitCodeOf(const absl::Status& status, int otherwise = kExitFailed);

// Writes `program: message` as one line unless `status` is OK or has no message (another process
// has told the user already); returns its exit code.
int ReportStatus(const absl::Status& status, std::string_view program, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_EXIT_CODE_H_
