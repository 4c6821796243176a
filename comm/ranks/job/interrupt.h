// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) as events that a run checks between two
// steps, so that it can end cleanly. Of Ctrl-C and of SIGTERM only the first is deferred: a
// second one of the same kind ends the process at once, as usual. SIGHUP is always deferred,
// because a terminal that is closed may send it twice, from the shell and from the system.

#ifndef DTNN_COMM_RANKS_JOB_INTERRUPT_H_
#define DTNN_COMM_RANKS_JOB_INTERRUPT_H_

#include <csignal>
#include <iterator>
#include <string>

namespace dtnn {

// These signals are deferred while an object of this class exists. One at a time.
class Interrupt {
 public:
  // `relayed`: the standard output goes through a launcher. mpirun reads no more of it once it ends
  // its ranks, so that from the signal on what cannot be written at once is dropped.
  explicit Interrupt(bool relayed = false);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

  // The signal that arrived, or 0.
  int signal() const { return Last(); }
  // For code that has no Interrupt: the signal that arrived at the existing one, or 0.
  static int Last();

 private:
  struct sigaction before_[std::size(kSignals)];
};

// "SIGINT", "SIGTERM", "SIGHUP", or the number.
std::string SignalName(int signal);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_INTERRUPT_H_
