#include "apps/testing/process.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace dtnn::testing {
namespace {

// Memory that a machine does not have is refused under the address sanitizer as well.
constexpr char kVariable[] = "ASAN_OPTIONS", kSetting[] = "allocator_may_return_null=1";

// Without the line in which the address sanitizer announces that it refuses memory.
std::string WithoutSanitizerNotes(const std::string& text) {
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    if (line.find("AddressSanitizer failed to allocate") == std::string::npos) kept += line;
    begin = end;
  }
  return kept;
}

int ExitCode(int status) {
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Outcome Launch(const std::string& program, const std::string& arguments) {
  Outcome outcome;
  const std::string command =
      "{ " + std::string(kVariable) + "=" + kSetting + " " + program + " " + arguments + "; } 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return outcome;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    outcome.text.append(buffer, n);
  }
  outcome.text = WithoutSanitizerNotes(outcome.text);
  outcome.exit_code = ExitCode(pclose(pipe));
  return outcome;
}

Process::Process(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  output_ = ends[0];
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  close(ends[1]);
}

Process::~Process() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
}

bool Process::ReadMore() {
  char buffer[4096];
  const ssize_t n = read(output_, buffer, sizeof(buffer));
  if (n > 0) text_.append(buffer, size_t(n));
  return n > 0;
}

bool Process::ReadUntil(std::string_view text) {
  while (text_.find(text) == std::string::npos) {
    if (!ReadMore()) return false;
  }
  return true;
}

void Process::Signal(int number) { kill(pid_, number); }

Outcome Process::Wait() {
  while (ReadMore()) {
  }
  int status = 0;
  rusage used = {};
  const bool ended = pid_ > 0 && wait4(pid_, &status, 0, &used) == pid_;
  pid_ = -1;
  return {ended ? ExitCode(status) : -1, text_, int64_t{used.ru_maxrss} * 1024};
}

WatchedFolder::WatchedFolder(const std::string& path) : watch_(inotify_init1(IN_CLOEXEC)) {
  inotify_add_watch(watch_, path.c_str(), IN_MOVED_TO);
}

WatchedFolder::~WatchedFolder() { close(watch_); }

void WatchedFolder::AwaitFile() {
  alignas(inotify_event) char events[4096];
  if (read(watch_, events, sizeof(events)) <= 0) std::abort();
}

}  // namespace dtnn::testing
