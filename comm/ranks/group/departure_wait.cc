#include "comm/ranks/group/departure_wait.h"

#include <algorithm>

namespace dtnn {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAskAgain(200);
// A rank that does not answer for so long is lost.
constexpr milliseconds kLongSilence(5000);
// What the clock can be moved on by.
constexpr std::chrono::hours kForEver(9999);

milliseconds SilenceOf(milliseconds timeout) { return std::min(kLongSilence, timeout / 2); }

}  // namespace

DepartureWait::DepartureWait(Group& group, int rank, milliseconds timeout, Clock::time_point start)
    : group_(group),
      rank_(rank),
      silence_(SilenceOf(timeout)),
      end_(start + std::min<milliseconds>(timeout, kForEver)),
      planned_(start),
      asked_since_(start) {}

Patience::Clock::time_point DepartureWait::Look(Clock::time_point now) {
  if (const Clock::duration late = now - planned_; late > silence_ / 2) {
    asked_since_ = now;
    end_ += late;
  }
  const bool silent = now - asked_since_ >= silence_ && group_.IsSilent(rank_, now, silence_);
  gave_up_ = now >= end_ || silent;
  if (over()) return now;
  group_.AskOne(rank_, now);
  return planned_ = std::min(end_, now + kAskAgain);
}

}  // namespace dtnn
