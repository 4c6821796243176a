// What one rank knows of a communicator: its calls that are not over, and where the others are.
//
// Without threads, locks, or a transport: GroupEngine guards it, a transport carries the calls out.
//
// A rank that waits asks where the others are. Where a message is missing it asks the one that has
// to send it; where a collective is, it asks the coordinator, the lowest rank that has not left,
// who asks all and reports: p questions for p ranks that wait, instead of p * p. Only where the
// coordinator does not answer either does everybody ask everybody.

#ifndef DTNN_COMM_RANKS_GROUP_GROUP_H_
#define DTNN_COMM_RANKS_GROUP_GROUP_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "comm/call_key.h"
#include "comm/communicator.h"
#include "comm/patience.h"
#include "comm/ranks/group/control_message.h"
#include "tensor/tensor.h"

namespace dtnn {

struct Operation {
  Collective call;
  CallKey key;
  std::string text;  // for messages to people: "collective number 3, barrier"
  bool done = false;
  absl::Status failed;  // the transport's word; see Group::failed
  Tensor gathered;      // when done: all ranks' tensors or parts, where we reduce them ourselves
};

class Group {
 public:
  using Clock = Patience::Clock;
  using Send = std::function<void(int to, const ControlMessage&)>;

  // `number` is counted alike on all ranks. `send` never blocks.
  Group(int32_t number, int rank, int size, const CommunicatorOptions& options, Send send);

  int32_t number() const { return number_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const CommunicatorOptions& options() const { return options_; }
  const absl::Status& broken() const { return broken_; }
  // The same, without the engine's lock.
  bool is_broken() const { return is_broken_; }
  // The call at which the transport failed; null: none. This call, those on their way and those
  // that follow are never done.
  const Operation* failed() const { return failed_.get(); }
  const std::vector<int>& lost() const { return lost_; }
  bool idle() const { return pending_.empty(); }
  bool departed(int rank) const;
  std::optional<int32_t> departure_code(int rank) const {
    return peers_[size_t(rank)].departure_code;
  }
  void set_departure_code(int32_t code) { departure_code_ = code; }

  // The next call of this rank; a group that is broken, or breaks because of it, has it no more.
  std::shared_ptr<Operation> Call(const Collective& call, std::string text = "");
  // It is done: no longer looked after.
  void End(const Operation& operation);
  // The transport has failed at the call; a thread that waits for any call finds the lost ranks.
  void Fail(std::shared_ptr<Operation> operation, const absl::Status& why);

  void Receive(int from, const ControlMessage& message, Clock::time_point now);
  // Ends the group here and, by a message, elsewhere.
  void Break(const absl::Status& why, std::vector<int> lost);
  // The rank is gone without a word: breaks the group unless the rank has left it.
  void Lose(int rank, const absl::Status& why);
  // Sends the last message, and again to ranks that ask. No call follows.
  void Leave();

  // Asks, once more, which ranks keep the call waiting. The caller has asked since `since`, and
  // will look at the answers at `until`.
  void Ask(const Operation& operation, Clock::time_point now, Clock::time_point since,
           Clock::time_point until);
  // Asks one rank, whatever it is needed for.
  void AskOne(int rank, Clock::time_point now);
  // It has owed an answer for so long.
  bool IsSilent(int rank, Clock::time_point now, Clock::duration silent_for) const;
  struct Absence {
    std::vector<int> ranks;
    std::string text;  // "rank 1, which does not answer (dead or frozen)"
  };
  // The ranks that keep the call waiting, as asked since `since`.
  Absence Missing(const Operation& operation, Clock::time_point now, Clock::time_point since) const;
  // Only those that do not answer.
  Absence Silent(const Operation& operation, Clock::time_point now, Clock::time_point since) const;

 private:
  // What another rank said last.
  struct Peer {
    int64_t calls = 0, sent = 0, received = 0;  // messages: to and from this rank
    bool left = false;
    std::optional<int32_t> departure_code;
    std::optional<Clock::time_point> asked;  // and has not answered since
  };
  struct Report {
    int from = -1;
    Clock::time_point at;
    std::vector<int> silent, late;
  };
  struct Found {
    std::vector<int> silent, late;
  };

  int Coordinator() const;
  bool HasCalled(int peer, const CallKey& key) const;
  void CheckDepartures(const Operation& operation);
  void QueryAll(Clock::time_point now);
  // By this rank's own questions: ranks that have owed an answer for so long, or have not called.
  Found Look(const CallKey& key, Clock::time_point now, Clock::duration silent_for) const;
  Found LookOrReport(const Operation& operation, Clock::time_point now,
                     Clock::time_point since) const;
  void Answer(int from, const ControlMessage& survey, Clock::time_point now);
  ControlMessage Position(ControlMessage::Kind kind, int to) const;
  // With what broke the group, if anything did.
  ControlMessage Ending(ControlMessage::Kind kind, int to) const;
  // Sends it to all who have not left.
  void SendToOthers(ControlMessage::Kind kind);
  // Ends the group here as it ended for the sender.
  void BreakLike(const ControlMessage& message);
  void SetBroken(const absl::Status& why, std::vector<int> lost);

  const int32_t number_;
  const int rank_, size_;
  const CommunicatorOptions options_;
  const Send send_;
  std::deque<std::shared_ptr<Operation>> pending_;  // in the order of calls
  int64_t calls_ = 0;
  std::vector<int64_t> sent_, received_;  // by peer
  std::vector<Peer> peers_;
  std::optional<Clock::time_point> asked_all_;
  std::optional<Report> report_;
  std::shared_ptr<const Operation> failed_;
  absl::Status broken_;
  std::atomic<bool> is_broken_ = false;
  std::vector<int> lost_;
  bool has_left_ = false;
  int32_t departure_code_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GROUP_GROUP_H_
