// One rank's side of a communicator: its calls on their way, and what it knows of the others.
//
// A state machine without threads or locks; Engine guards and drives it. A call passes through
//   kSignature  (checked calls) all ranks' signatures are exchanged and compared,
//   kTurn       every earlier call of its kind (collectives; messages of one pair) has begun, so
//               that MPI sees the same order on all ranks,
//   kTransfer   MPI moves the bytes, in several stages where hierarchy.h has a part in it,
//   kDone.
// When the group breaks, calls on their way stay with MPI, which nobody can take them from: their
// tensors are kept, and MPI may still write to them.

#ifndef DTNN_COMM_MPI_GROUP_H_
#define DTNN_COMM_MPI_GROUP_H_

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "comm/call_key.h"
#include "comm/communicator.h"
#include "comm/mpi/call_guard.h"
#include "comm/mpi/control.h"
#include "comm/mpi/hierarchy.h"
#include "comm/mpi/mpi_api.h"
#include "comm/mpi/mpi_options.h"
#include "comm/mpi/peer_processes.h"
#include "comm/patience.h"
#include "tensor/tensor.h"

namespace dtnn {

struct Operation {
  enum class Step : uint8_t { kSignature, kTurn, kTransfer, kDone };

  Collective call;
  CallKey key;
  Step step = Step::kTurn;
  absl::Status status;  // when done
  std::vector<MPI_Request> requests;
  // Of an all-reduce in stages: the last that was begun (-1: none), and what they share.
  int stage = -1;
  Hierarchy::Slices slices;
  std::vector<CallSignature> signatures;  // by rank; of a message: the sender's, the receiver's
  Tensor gathered;                        // all ranks' tensors, where we reduce them ourselves

  bool done() const { return step == Step::kDone; }
};

class Group {
 public:
  using Clock = Patience::Clock;

  // The group's alone.
  struct Comms {
    MPI_Comm data = MPI_COMM_NULL;
    MPI_Comm signatures = MPI_COMM_NULL;  // where calls are checked
    // By stage, where all-reduces go in stages.
    std::array<MPI_Comm, Hierarchy::kStages> stages = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  };

  // `number` is counted alike on all ranks. What is passed by reference outlives it.
  Group(int32_t number, int rank, int size, const Comms& comms, const CommunicatorOptions& options,
        const MpiOptions& mpi, ControlChannel& control, CallGuard& guard,
        const std::vector<ProcessId>& processes);

  int32_t number() const { return number_; }
  int rank() const { return rank_; }
  const CommunicatorOptions& options() const { return options_; }
  const absl::Status& broken() const { return broken_; }
  const std::vector<int>& lost() const { return lost_; }
  bool departed(int rank) const;
  bool watched() const { return watch_.has_value(); }
  bool in_flight() const { return broken_.ok() && !operations_.empty(); }

  std::shared_ptr<Operation> Start(const Collective& call);
  // Lets MPI move on; true where a call has come further.
  bool Progress();
  void Receive(int from, const ControlMessage& message);
  // Ends the group here and, by a message, elsewhere. Where MPI hangs, nobody can be told, and
  // those are lost whose processes have ended.
  void Break(const absl::Status& why, std::vector<int> lost);
  // Because MPI hangs.
  void BreakStuck();
  // Says good-bye. No call follows.
  void Leave();
  // Frees MPI's communicators; not after the group broke.
  void Free();

  // Asks the ranks that the call needs where they are, once more: those that had not called it.
  void Query(const Operation& operation, Clock::time_point now, bool once_more);
  struct Absence {
    std::vector<int> ranks;
    std::string text;  // "rank 1, which does not answer (dead or frozen)"
  };
  // Who keeps the call waiting. A question asked before `patience_from` had time to be answered.
  Absence Missing(const Operation& operation, Clock::time_point patience_from) const;
  // Those alone who do not answer.
  Absence Silent(const Operation& operation, Clock::time_point patience_from) const;

 private:
  // What another rank said last.
  struct Peer {
    int64_t calls = 0, sent = 0, received = 0;  // messages: to and from this rank
    bool left = false;
    std::optional<Clock::time_point> asked;  // and has not answered since
  };

  // Where `late` is given: also those who answer, but have not called it, go there.
  std::vector<int> SilentRanks(const Operation& operation, Clock::time_point patience_from,
                               std::vector<int>* late) const;
  bool HasCalled(int peer, const CallKey& key) const;
  // The sum in rank order, computed here, or the arguments of MPI's call.
  bool gathers(const Operation& operation) const;
  // Whether the call goes in stages; the same on all ranks.
  bool staged(const Operation& operation) const;
  bool checked() const { return signatures_ != MPI_COMM_NULL; }
  absl::Status BeginSignatures(Operation& operation);
  absl::Status CompareSignatures(const Operation& operation) const;
  absl::Status Begin(Operation& operation);
  void Finish(Operation& operation);
  bool Advance(Operation& operation);
  bool HasTurn(const Operation& operation) const;
  // Every earlier call in stages has begun the operation's next one.
  bool HasTurnOfStage(const Operation& operation) const;
  absl::Status BeginStage(Operation& operation);
  void CheckDepartures(const Operation& operation);
  ControlMessage Position(ControlMessage::Kind kind, int to) const;
  // Sends it to all who have not left, with what broke the group, if anything did.
  void Tell(ControlMessage::Kind kind);
  // Ends the group here as it ended for the sender.
  void BreakLike(const ControlMessage& message);

  const int32_t number_;
  const int rank_, size_;
  MPI_Comm data_, signatures_;
  std::optional<Hierarchy> hierarchy_;
  const CommunicatorOptions options_;
  const MpiOptions mpi_;
  ControlChannel& control_;
  CallGuard& guard_;
  const std::vector<ProcessId>& processes_;            // by rank
  std::optional<CallGuard::Watch> watch_;              // while the communicator lives
  std::deque<std::shared_ptr<Operation>> operations_;  // not done, in the order of calls
  int64_t calls_ = 0;
  std::vector<int64_t> sent_, received_;  // by peer
  std::vector<Peer> peers_;
  absl::Status broken_;
  std::vector<int> lost_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_GROUP_H_
