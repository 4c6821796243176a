// Ends the process when a call that cannot be given a timeout does not return in time.
//
// For calls like MPI_Finalize that wait for other ranks, which may be dead: a thread beside them
// waits as long as the options allow, then writes to stderr what hung, and because of which rank
// where that can be seen from this host, and leaves by _exit.

#ifndef DTNN_COMM_MPI_WATCHDOG_H_
#define DTNN_COMM_MPI_WATCHDOG_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "comm/communicator.h"

namespace dtnn {

class Watchdog {
 public:
  // `what` begins the message: "rank 1: MPI_Finalize". Takes from the options the timeout, the
  // warning and the interruption.
  Watchdog(std::string what, const CommunicatorOptions& options, int exit_code);
  // In time: the process lives on.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void Run();

  const std::string what_;
  const CommunicatorOptions options_;
  const int exit_code_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_WATCHDOG_H_
