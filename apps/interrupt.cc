#include "apps/interrupt.h"

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
  // Interrupted system calls go on, and the next signal of the kind finds what was there before.
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
  // A process that was started to ignore Ctrl-C (nohup, a shell's background job) goes on to.
  if (before_int_.sa_handler == SIG_IGN) sigaction(SIGINT, &before_int_, nullptr);
  if (before_term_.sa_handler == SIG_IGN) sigaction(SIGTERM, &before_term_, nullptr);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
  came = 0;
}

int Interrupt::Last() { return came; }

std::string SignalName(int signal) {
  if (signal == SIGINT) return "SIGINT";
  if (signal == SIGTERM) return "SIGTERM";
  return "signal " + std::to_string(signal);
}

}  // namespace dtnn
