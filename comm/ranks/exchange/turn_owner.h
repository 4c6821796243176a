// Which thread takes the turns of an engine, each of which sleeps until something can move and then
// moves it: the engine's own thread or, for as long as it waits for its call, one caller, which
// then need not be woken by another thread.
//
// A caller takes over from the thread where that sleeps. When no caller has taken turns for a
// millisecond the thread takes them again, at once where it is needed. All methods are called with
// the engine's lock held.

#ifndef DTNN_COMM_RANKS_EXCHANGE_TURN_OWNER_H_
#define DTNN_COMM_RANKS_EXCHANGE_TURN_OWNER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/status/status.h"
#include "comm/descriptors/wakeup.h"

namespace dtnn {

class TurnOwner {
 public:
  // ResourceExhausted where nothing could be woken, and so nothing may sleep.
  const absl::Status& status() const { return wakeup_.status(); }

  // There is something to do: wakes the owner, or makes the thread the owner.
  void Wake();
  // What an owner that sleeps polls for.
  int descriptor() const { return wakeup_.descriptor(); }
  void TakeWake() { wakeup_.Drain(); }

  // For the thread. Acquire returns when it is the owner, and whether it was not before: then there
  // may be something to do of which nothing wakes it, and its turn must not sleep. Between
  // FallAsleep and WakeUp a caller may take over: then WakeUp returns false, and the thread must
  // acquire again.
  bool Acquire(std::unique_lock<std::mutex>& lock);
  void FallAsleep() { sleeps_ = true; }
  bool WakeUp();

  // For a caller. False: another one, or the thread, takes turns now.
  bool TakeOver();
  // `needed`: there is something to do that the caller does not wait for.
  void HandBack(bool needed);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Owner : uint8_t { kNobody, kThread, kCaller };

  const Wakeup wakeup_;
  std::condition_variable changed_;
  Owner owner_ = Owner::kNobody;
  bool needed_ = true;   // the thread, at once
  bool sleeps_ = false;  // the thread, in its turn
  bool rests_ = false;   // the thread, until a caller hands back
  Clock::time_point free_since_ = {};
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_TURN_OWNER_H_
