// How a rank waits for another one to leave a group: whom it asks and when, and when it takes it
// for lost.
//
// Looked at from time to time, with Group's guard held; holds no lock and never blocks. Silence
// counts from the wait's own first question, and, since a rank that was stopped with its whole
// process has heard nothing, anew after such a pause.

#ifndef DTNN_COMM_RANKS_GROUP_DEPARTURE_WAIT_H_
#define DTNN_COMM_RANKS_GROUP_DEPARTURE_WAIT_H_

#include <chrono>

#include "comm/patience.h"
#include "comm/ranks/group/group.h"

namespace dtnn {

class DepartureWait {
 public:
  using Clock = Patience::Clock;

  // The group outlives it.
  DepartureWait(Group& group, int rank, std::chrono::milliseconds timeout, Clock::time_point start);

  // Asks the rank. Answers when to look again, should nothing happen before.
  Clock::time_point Look(Clock::time_point now);
  // The rank has left or is lost, or the time is up.
  bool over() const { return gave_up_ || group_.departed(rank_); }

 private:
  Group& group_;
  const int rank_;
  const std::chrono::milliseconds silence_;
  Clock::time_point end_, planned_, asked_since_;
  bool gave_up_ = false;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GROUP_DEPARTURE_WAIT_H_
