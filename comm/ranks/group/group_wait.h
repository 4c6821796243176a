// How a rank waits for a call of a group: whom it asks and when, when it warns, and when and why it
// breaks the group.
//
// Looked at from time to time, with Group's guard held; holds no lock and never blocks. Before a
// verdict the others are asked where they are, again and again: on a busy machine a rank may not
// get to answer for seconds. A rank that was itself stopped, with its whole process, knows nothing
// yet and puts the verdict off.

#ifndef DTNN_COMM_RANKS_GROUP_GROUP_WAIT_H_
#define DTNN_COMM_RANKS_GROUP_GROUP_WAIT_H_

#include <chrono>
#include <optional>
#include <string>

#include "comm/patience.h"
#include "comm/ranks/group/group.h"

namespace dtnn {

class GroupWait {
 public:
  using Clock = Patience::Clock;

  // All outlive it.
  GroupWait(Group& group, const Operation& operation, const CommunicatorOptions& options,
            Clock::time_point start);

  // What is due now; the group may be broken after it. Answers when to look again, should nothing
  // happen before.
  Clock::time_point Look(Clock::time_point now);
  // The text for the options' `warn`, once; empty: none.
  std::string TakeWarning();

 private:
  // The call that the others are asked about: where the transport failed, the one at which it did.
  const Operation& Subject() const { return group_.failed() ? *group_.failed() : operation_; }
  void HoldIfStopped(Clock::time_point now);
  void Judge(Patience::Verdict verdict, Clock::time_point now);
  // When the next verdict is due.
  Clock::time_point Due() const;
  std::string Waited(Clock::time_point now, bool so_far) const;

  Group& group_;
  const Operation& operation_;
  const std::chrono::milliseconds lead_, respite_, grace_;
  Patience patience_;
  Clock::time_point planned_, hold_;
  int holds_ = 0;
  std::optional<Clock::time_point> failed_until_;  // the transport failed: which ranks are lost?
  // The others have been asked since, for a verdict at, and are asked again at.
  Clock::time_point asked_since_, asked_for_ = {}, ask_again_ = {};
  std::string warning_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GROUP_GROUP_WAIT_H_
