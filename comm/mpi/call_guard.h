// Gets a thread back out of an MPI call that never returns.
//
// Calls that do not block by MPI's standard may do so all the same when a connection breaks: Open
// MPI 4.1 over TCP, sending to a rank that has died, locks one of its own mutexes twice. All calls
// go through a guard, whose thread sees from outside when one of them lasts too long, and then
// sends the caller a signal (SIGURG, which nobody else sends to a thread) whose handler jumps back
// out of the call. From then on MPI is stuck: every later call fails without touching it, and the
// process, which may still save what it has, must leave by _exit.
//
// A guarded call costs some nanoseconds and no look at the clock. How long is too long: the half of
// the timeout of any communicator (but 2 s at least where the timeout is longer), or `grace` after
// an interruption. A process that is stopped as a whole does not count the time.

#ifndef DTNN_COMM_MPI_CALL_GUARD_H_
#define DTNN_COMM_MPI_CALL_GUARD_H_

#include <setjmp.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include "absl/functional/function_ref.h"
#include "comm/communicator.h"

namespace dtnn {

// What a call returns that was given up, or not made; MPI's own codes are not negative.
constexpr int kMpiStuck = -1;

class CallGuard {
 public:
  CallGuard();
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

  // The call's code, or kMpiStuck. One thread at a time. The call may be left in its midst: it
  // makes one MPI call and owns nothing.
  int Call(absl::FunctionRef<int()> call);
  bool stuck() const { return stuck_.load(); }

  // Regards the options, which outlive it, as long as it lives.
  class Watch {
   public:
    Watch(CallGuard& guard, const CommunicatorOptions& options, std::chrono::milliseconds timeout);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    CallGuard& guard_;
  };

 private:
  struct Watched {
    const CommunicatorOptions* options;
    std::chrono::milliseconds limit;
    std::chrono::milliseconds interrupted_for{0};
  };

  void Enter(sigjmp_buf* frame);
  void Leave();
  void Run();
  // Whether somebody has waited too long for a call that has lasted `inside`, `more` of it since
  // the last question.
  bool TooLong(std::chrono::milliseconds inside, std::chrono::milliseconds more);

  std::atomic<uint64_t> entries_{0};  // odd: inside a call
  std::atomic<pid_t> caller_{0};      // the thread that entered last
  std::atomic<bool> stuck_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::map<const Watch*, Watched> watched_;
  std::thread thread_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_CALL_GUARD_H_
