#include "comm/ranks/job/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace dtnn {
namespace {

std::atomic<int> came = 0;  // threads read it
static_assert(std::atomic<int>::is_always_lock_free);

void Note(int signal) { came = signal; }

// A write that waits for a reader is begun anew behind the signal, and fails then.
void NoteRelayed(int signal) {
  came = signal;
  const int kept = errno;
  fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
  errno = kept;
}

}  // namespace

Interrupt::Interrupt(bool relayed) {
  came = 0;
  struct sigaction action = {};
  action.sa_handler = relayed ? NoteRelayed : Note;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    // Interrupted system calls continue, and the next Ctrl-C or SIGTERM finds what was there
    // before.
    action.sa_flags = SA_RESTART | (kSignals[i] == SIGHUP ? 0 : int(SA_RESETHAND));
    sigaction(kSignals[i], &action, &before_[i]);
    // A process that was started to ignore one (nohup, a shell's background job) still does.
    if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  came = 0;
}

int Interrupt::Last() { return came; }

std::string SignalName(int signal) {
  if (signal == SIGINT) return "SIGINT";
  if (signal == SIGTERM) return "SIGTERM";
  if (signal == SIGHUP) return "SIGHUP";
  return "signal " + std::to_string(signal);
}

}  // namespace dtnn
