// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) as something that a run notices between two
// steps, so that it can end in order. Of Ctrl-C and SIGTERM only the first is held back: a second
// one ends the process at once, as ever. Nobody sends SIGHUP to insist: a terminal that is closed
// may bring it twice, from the shell and from the system.

#ifndef DTNN_COMM_JOB_INTERRUPT_H_
#define DTNN_COMM_JOB_INTERRUPT_H_

#include <csignal>
#include <iterator>
#include <string>

namespace dtnn {

// While one lives, these signals are held back. One at a time.
class Interrupt {
 public:
  // `relayed`: the standard output goes through a launcher. mpirun reads no more of it once it ends
  // its ranks, so that from the signal on what cannot be written at once is dropped.
  explicit Interrupt(bool relayed = false);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // The signal that came, or 0.
  int signal() const { return Last(); }
  // For those who cannot hold one: the signal that came to the one that lives, or 0.
  static int Last();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)];
};

// "SIGINT", "SIGTERM", "SIGHUP", or the number.
std::string SignalName(int signal);

}  // namespace dtnn

#endif  // DTNN_COMM_JOB_INTERRUPT_H_
