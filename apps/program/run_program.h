// The main of every program here: arguments in, exit code out.

#ifndef DTNN_APPS_PROGRAM_RUN_PROGRAM_H_
#define DTNN_APPS_PROGRAM_RUN_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace dtnn {

// Calls `run` with the arguments after the program's name; if they are --version, it is not called,
// and the version is printed. An error is printed to stderr as
// `name`'s (exit_code.h), as wrong usage if this CPU lacks the instruction set of DTNN_SIMD
// (kernels/simd/simd_target.h), before `run`; so is running out of memory, with `advice` on what
// needs less of it, and a standard output that did not take everything: a full disk, no output at
// all. Where that is a pipe whose reader has exited, `run` continues to its end (SIGPIPE is
// ignored), and the exit code alone, SIGPIPE's, says so. SIGXFSZ (`ulimit -f`) is ignored too:
// writing a file beyond the limit is an error that names the file.
int RunProgram(std::string_view name, int argc, char** argv, std::string_view advice,
               absl::FunctionRef<absl::Status(const std::vector<std::string>&)> run);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_RUN_PROGRAM_H_
