// The communicators of a process whose ranks exchange messages, whatever carries them: its groups
// under one lock, between the threads that use them and those that serve them.
//
//  - Callers hand in calls and wait on a condition variable, as long as their options say.
//  - A thread of the transport carries the calls out, and reports by Finish what is done.
//  - A thread of the transport hands in other ranks' messages by Receive.
// So a rank asks, answers, gives up and saves its work while the transport hangs. No thread holds
// the lock while the transport works: what a transport implements never blocks.

#ifndef DTNN_COMM_RANKS_GROUP_GROUP_ENGINE_H_
#define DTNN_COMM_RANKS_GROUP_GROUP_ENGINE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/patience.h"
#include "comm/ranks/group/control_message.h"
#include "comm/ranks/group/group.h"
#include "tensor/tensor.h"

namespace dtnn {

class GroupEngine {
 public:
  virtual ~GroupEngine() = default;

  std::shared_ptr<Operation> Start(const std::shared_ptr<Group>& group, const Collective& call);
  absl::Status Await(Group& group, Operation& operation);
  // The rank's departure code; nothing where it is lost, or has not left in time.
  std::optional<int32_t> AwaitDeparture(Group& group, int rank, std::chrono::milliseconds timeout);
  void SetDepartureCode(Group& group, int32_t code);
  void GiveUp(Group& group, const absl::Status& why);
  void Leave(const std::shared_ptr<Group>& group);
  std::vector<int> Lost(const Group& group);

  // A group broke: an end for which all ranks meet would wait for those that are gone.
  bool broken();

  const RankPlace& place() const { return place_; }

 protected:
  using Clock = Patience::Clock;

  explicit GroupEngine(const RankPlace& place);

  // What a transport does; none of it blocks. Carry: later, on its own thread, until Finish.
  virtual void Carry(const std::shared_ptr<Group>& group, std::shared_ptr<Operation> operation) = 0;
  // Nobody hands in calls of this group any more.
  virtual void Release(const std::shared_ptr<Group>& group) = 0;
  virtual void Send(int to, const ControlMessage& message) = 0;
  // Somebody waits, or nobody does any more.
  virtual void SetWaiting(bool /*waits*/) {}
  // Whether a thread that waits for the call carries calls out itself now, instead of the
  // transport's: CarryOn does so for a while, at the latest until `end`, again and again, until
  // HandBack. Only CarryOn is called without the lock.
  virtual bool TakeOver(const Operation& /*operation*/) { return false; }
  virtual void CarryOn(Clock::time_point /*end*/) {}
  virtual void HandBack() {}

  // A new group, which hears other ranks from now on.
  std::shared_ptr<Group> NewGroup(const CommunicatorOptions& options);
  // The next call of all ranks together that belongs to no communicator: null where that is broken
  // already, with `why`.
  std::shared_ptr<Operation> CallOfAll(const Collective& call, const std::string& text,
                                       absl::Status& why);
  absl::Status AwaitOfAll(Operation& operation, const CommunicatorOptions& options);
  const std::shared_ptr<Group>& all() const { return all_; }

  void Receive(int from, const ControlMessage& message);
  // What became of a call. InvalidArgument breaks its group at once; after another error a
  // waiting thread finds the lost ranks (Group::Fail).
  void Finish(Group& group, const std::shared_ptr<Operation>& operation, const absl::Status& status,
              Tensor gathered);
  // A rank is gone without a word: breaks every group that it has not left.
  void Lose(int rank, const absl::Status& why);

 private:
  absl::Status AwaitWith(Group& group, Operation& operation, const CommunicatorOptions& options);
  std::function<void(int, const ControlMessage&)> Sender();

  const RankPlace place_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Group> all_;  // of all ranks: its collectives are those of no communicator
  std::map<int32_t, std::shared_ptr<Group>> groups_;  // by number; those left still say so
  int32_t next_group_ = 1;
  bool broken_ = false;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GROUP_GROUP_ENGINE_H_
