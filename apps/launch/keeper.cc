#include "apps/launch/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>

namespace dtnn {
namespace {

// Returns when the launcher is gone, or needs it no more.
void Keep(int pipe) {
  std::set<pid_t> groups;
  pid_t message = 0;
  while (true) {
    const ssize_t n = read(pipe, &message, sizeof(message));
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof(message)) break;  // so small a message comes whole
    if (message > 0) {
      groups.insert(message);
    } else {
      groups.erase(-message);
    }
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
}

}  // namespace

Keeper::Keeper() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    // Neither Ctrl-C nor the end of the terminal is for it, and nobody waits for what it writes.
    setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
    close(ends[1]);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
    Keep(ends[0]);
    _exit(0);
  }
  close(ends[0]);
  pipe_ = ends[1];
}

Keeper::~Keeper() {
  if (pipe_ >= 0) close(pipe_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void Keeper::Send(pid_t message) {
  // Without it the ranks themselves end with the launcher all the same.
  if (pipe_ >= 0) (void)!write(pipe_, &message, sizeof(message));
}

}  // namespace dtnn
