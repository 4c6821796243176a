#include "apps/launch/rank_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "apps/launch/remote_command.h"
#include "comm/descriptors/open_files.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

struct Pipe {
  int read = -1, write = -1;

  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  void CloseRead() { Close(read); }
  void CloseWrite() { Close(write); }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }

 private:
  static void Close(int& descriptor) {
    if (descriptor >= 0) close(descriptor);
    descriptor = -1;
  }
};

// In the new process; returns the reason only where the program cannot be started.
int Become(const std::vector<std::string>& command, const RankChildOptions& options, pid_t launcher,
           int input, int output, int error) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);  // gone before that
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);  // RunProgram ignores them
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  if (options.listener >= 0) fcntl(options.listener, F_SETFD, 0);
  LimitOpenFiles(options.open_files);
  // The launcher itself may belong to a job, or its user prepare one by hand.
  for (const char* const name : kJobVariables) unsetenv(name);
  if (options.host.empty()) {
    for (const auto& [name, value] : options.variables) setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  return errno;
}

std::vector<std::string> CommandOf(const RankChildOptions& options) {
  if (options.host.empty()) return options.command;
  std::error_code ignored;
  return {options.ssh,
          "-T",
          "-o",
          "BatchMode=yes",
          "-o",
          "ServerAliveInterval=15",
          options.host,
          RemoteCommand(std::filesystem::current_path(ignored).string(), options.command)};
}

// Reads of a pipe, which holds 64 KiB, before others have their turn.
constexpr int kTurns = 16;

void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // it is gone, which its exit code will say
    text.remove_prefix(size_t(n));
  }
}

}  // namespace

RankChild::RankChild(const RankChildOptions& options, std::ostream& out, std::ostream& err)
    : rank_(options.rank),
      host_(options.host),
      relays_{{options.prefix, out, options.rank}, {options.prefix, err, options.rank}} {}

RankChild::~RankChild() {
  if (pid_ > 0 && running()) {
    Kill();
    waitpid(pid_, nullptr, 0);
  }
  for (const int descriptor : {input_, pipes_[0], pipes_[1]}) {
    if (descriptor >= 0) close(descriptor);
  }
}

absl::StatusOr<std::unique_ptr<RankChild>> RankChild::Start(const RankChildOptions& options,
                                                            std::ostream& out, std::ostream& err) {
  const bool remote = !options.host.empty();
  Pipe input, output, error, failure;
  if (!output.Open() || !error.Open() || !failure.Open() || (remote && !input.Open())) {
    return ResourceExhausted("rank ", options.rank, ": cannot open a pipe: ", strerror(errno));
  }
  if (!remote) input.read = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::vector<std::string> command = CommandOf(options);
  const pid_t launcher = getpid();
  std::unique_ptr<RankChild> child(new RankChild(options, out, err));
  child->pid_ = fork();
  if (child->pid_ < 0) {
    return ResourceExhausted("rank ", options.rank, ": cannot start a process: ", strerror(errno));
  }
  if (child->pid_ == 0) {
    const int reason = Become(command, options, launcher, input.read, output.write, error.write);
    (void)!write(failure.write, &reason, sizeof(reason));
    _exit(127);
  }
  setpgid(child->pid_, child->pid_);  // the child does it too: one of them is first
  failure.CloseWrite();
  int reason = 0;
  if (read(failure.read, &reason, sizeof(reason)) > 0) {
    const std::string text = StrCat("cannot start ", Quoted(command[0]), ": ", strerror(reason));
    return reason == ENOENT ? NotFound(text) : FailedPrecondition(text);
  }
  child->pipes_[0] = std::exchange(output.read, -1);
  child->pipes_[1] = std::exchange(error.read, -1);
  for (const int pipe : child->pipes_) fcntl(pipe, F_SETFL, O_NONBLOCK);
  if (remote) {
    child->input_ = std::exchange(input.write, -1);
    std::string lines;
    for (const auto& [name, value] : options.variables) StrAppend(&lines, name, "=", value, "\n");
    WriteAll(child->input_, lines + "\n");
  }
  return child;
}

void RankChild::Relay() {
  for (int i = 0; i < 2; ++i) {
    if (pipes_[i] < 0) continue;
    std::array<char, 16384> buffer;
    ssize_t n = 1;
    for (int turn = 0; n > 0 && turn < kTurns; ++turn) {
      n = read(pipes_[i], buffer.data(), buffer.size());
      if (n > 0) relays_[i].Take({buffer.data(), size_t(n)});
    }
    const bool later = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
    // A process that it has left behind may hold the pipe open for ever.
    if (later && running()) continue;
    relays_[i].Finish();
    close(pipes_[i]);
    pipes_[i] = -1;
  }
}

void RankChild::Signal(int number) {
  if (!running()) return;
  if (input_ >= 0) {
    WriteAll(input_, StrCat(sigabbrev_np(number), "\n"));
  } else {
    kill(-pid_, number);
  }
}

void RankChild::Kill() {
  if (running()) kill(-pid_, SIGKILL);
}

bool RankChild::Reap() {
  if (!running()) return true;
  siginfo_t info = {};
  if (waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return false;
  }
  kill(-pid_, SIGKILL);  // while nobody else can have its number
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_code_ = WIFSIGNALED(status) ? ExitCodeOfSignal(WTERMSIG(status)) : WEXITSTATUS(status);
  Relay();
  return true;
}

}  // namespace dtnn
