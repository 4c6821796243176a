#include "apps/sweep/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "comm/ranks/job/exit_code.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<pid_t> StartChild(const std::vector<std::string>& command, const std::string& log,
                                 int threads) {
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (output < 0) return FailedPrecondition(log, ": cannot be written: ", strerror(errno));
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const std::string number = StrCat(threads);
  const pid_t sweep = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != sweep) _exit(1);  // gone before that
    for (const int signal : {SIGPIPE, SIGXFSZ})
      ::signal(signal, SIG_DFL);  // RunProgram ignores them
    const int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (threads > 0) setenv("OMP_NUM_THREADS", number.c_str(), /*overwrite=*/0);
    execvp(words[0], words.data());
    dprintf(STDERR_FILENO, "sweep: cannot start %s: %s\n", words[0], strerror(errno));
    _exit(127);
  }
  const int reason = errno;
  close(output);
  if (pid < 0) return ResourceExhausted("cannot start a process: ", strerror(reason));
  return pid;
}

std::optional<EndedChild> AwaitChild() {
  int status = 0;
  const pid_t pid = waitpid(-1, &status, WNOHANG);
  if (pid > 0) {
    return EndedChild{
        pid, WIFSIGNALED(status) ? ExitCodeOfSignal(WTERMSIG(status)) : WEXITSTATUS(status)};
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return std::nullopt;
}

}  // namespace dtnn
