#include "apps/program/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <new>

#include "apps/flags/argument_flags.h"
#include "apps/program/log.h"
#include "comm/ranks/job/exit_code.h"
#include "kernels/simd/simd_target.h"
#include "tensor/errors.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

// What was started with one of its standard streams closed gets one that fails, as before, but is
// taken: a file that is opened later must not become the standard output.
void TakeStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) {
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

// Whether the standard output is a pipe that nobody reads any more, as in `program | head`.
bool ReaderHasExited() {
  pollfd output = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

int RunProgram(std::string_view name, int argc, char** argv, std::string_view advice,
               absl::FunctionRef<absl::Status(const std::vector<std::string>&)> run) {
  TakeStandardStreams();
  // A write fails instead, and says which file it was.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const bool asks_version = arguments == std::vector<std::string>{"--version"};
  absl::Status status = WithExitCode(RestrictSimdByEnvironment(), kExitUsage);
  try {
    if (asks_version) {
      std::cout << name << " (DTNN) " << Version() << "\n";
    } else if (status.ok()) {
      status = run(arguments);
    }
  } catch (const std::bad_alloc&) {  // of the standard library's containers
    status = ResourceExhausted("out of memory; ", advice);
  }
  if (!std::cout.flush() && status.ok()) {
    if (ReaderHasExited()) {
      EndLog();
      return ExitCodeOfSignal(SIGPIPE);
    }
    status = absl::DataLossError("cannot write to the standard output; is the disk full?");
  }
  const int code = ReportStatus(NameFlags(status), name, std::cerr);
  EndLog();
  return code;
}

}  // namespace dtnn
