#include "comm/ranks/exchange/turn_owner.h"

namespace dtnn {
namespace {

// So long the thread leaves the turns to callers that come one after the other.
constexpr std::chrono::milliseconds kRest(1);

}  // namespace

void TurnOwner::Wake() {
  // A thread that has lost its turn may not have noticed yet.
  if (owner_ != Owner::kNobody || sleeps_) wakeup_.Wake();
  if (owner_ != Owner::kNobody) return;
  needed_ = true;
  changed_.notify_one();
}

bool TurnOwner::Acquire(std::unique_lock<std::mutex>& lock) {
  if (owner_ == Owner::kThread) return false;
  while (owner_ != Owner::kThread) {
    const Clock::time_point due = free_since_ + kRest;
    if (owner_ == Owner::kCaller) {
      rests_ = true;
      changed_.wait(lock);
      rests_ = false;
    } else if (needed_ || Clock::now() >= due) {
      owner_ = Owner::kThread;
      needed_ = false;
    } else {
      changed_.wait_until(lock, due);
    }
  }
  return true;
}

bool TurnOwner::WakeUp() {
  sleeps_ = false;
  return owner_ == Owner::kThread;
}

bool TurnOwner::TakeOver() {
  if (owner_ == Owner::kCaller || (owner_ == Owner::kThread && !sleeps_)) return false;
  owner_ = Owner::kCaller;
  needed_ = false;
  return true;
}

void TurnOwner::HandBack(bool needed) {
  owner_ = Owner::kNobody;
  free_since_ = Clock::now();
  needed_ = needed;
  if (sleeps_) {
    wakeup_.Wake();  // it may sleep for what has changed since
  } else if (needed_ || rests_) {
    changed_.notify_one();
  }
}

}  // namespace dtnn
