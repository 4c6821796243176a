// How long a rank waits for the others: when it warns, and when and why the wait fails.
//
// For implementations of Communicator: one Patience per wait, asked from time to time. It holds no
// lock and never blocks; `interrupted` of the options is called by Ask.

#ifndef DTNN_COMM_PATIENCE_H_
#define DTNN_COMM_PATIENCE_H_

#include <chrono>
#include <optional>
#include <string>

#include "comm/communicator.h"

namespace dtnn {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Verdict { kGoOn, kWarn, kInterrupted, kTimedOut };

  // The options must outlive it.
  Patience(const CommunicatorOptions& options, std::chrono::milliseconds timeout,
           Clock::time_point start);

  // kWarn at most once, and only where the options have somebody to tell. kInterrupted again and
  // again, until the time is out: a caller that knows that the others are alive may continue.
  Verdict Ask(Clock::time_point now);

  // After kInterrupted: the others are alive. It comes again when another `grace` is over.
  void GoOn(Clock::time_point now);

  // When to ask again, should nothing happen before.
  Clock::time_point Next(Clock::time_point now) const;

  // When Ask answers something else than kGoOn, unless an interruption comes before.
  Clock::time_point NextVerdict() const;

  // No more than the timeout, at which a late answer still counts.
  std::chrono::milliseconds Waited(Clock::time_point now) const;
  std::chrono::milliseconds Left(Clock::time_point now) const;

 private:
  const CommunicatorOptions& options_;
  Clock::time_point start_, deadline_;
  std::optional<Clock::time_point> warn_at_, give_up_;
};

// "250 ms", "60 s".
std::string ToString(std::chrono::milliseconds time);

// "rank 1", "ranks 1, 3".
std::string RankList(const std::vector<int>& ranks);

}  // namespace dtnn

#endif  // DTNN_COMM_PATIENCE_H_
