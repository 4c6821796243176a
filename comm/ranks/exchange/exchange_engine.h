// The communicators of a process whose ranks are connected by streams, whatever carries their
// bytes: a GroupEngine whose calls a thread of its own carries out, or a caller while it waits.
//
// One thread at a time touches the connections (turn_owner.h). It sleeps until one of them can be
// read or written, or a call comes in; so it takes little from threads that compute, and answers
// other ranks at once, whatever the others do.

#ifndef DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_ENGINE_H_
#define DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_ENGINE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/exchange/connection.h"
#include "comm/ranks/exchange/exchange_call.h"
#include "comm/ranks/exchange/exchange_options.h"
#include "comm/ranks/exchange/turn_owner.h"
#include "comm/ranks/group/control_message.h"
#include "comm/ranks/group/group.h"
#include "comm/ranks/group/group_engine.h"
#include "comm/transport/mesh.h"

namespace dtnn {

class ExchangeEngine : public GroupEngine {
 public:
  // Where this process has no descriptor left for it, CreateGroup and Meet say so.
  explicit ExchangeEngine(Mesh mesh);
  // Closes the connections: what is on its way may be lost (Close).
  ~ExchangeEngine() override;

  // All ranks call it together. Waits for them, as the options say.
  absl::StatusOr<std::shared_ptr<Group>> CreateGroup(const CommunicatorOptions& options,
                                                     const ExchangeOptions& own);
  // At the end of the job: returns when all ranks have called it.
  absl::Status Meet(const CommunicatorOptions& options);
  // Says good-bye, sends what is to be sent, and returns when the others have read it and closed
  // their ends too, at the latest at `end`.
  void Close(Clock::time_point end);

 protected:
  void Carry(const std::shared_ptr<Group>& group, std::shared_ptr<Operation> operation) override;
  void Release(const std::shared_ptr<Group>& group) override;
  void Send(int to, const ControlMessage& message) override;
  bool TakeOver(const Operation& operation) override;
  void CarryOn(Clock::time_point end) override { (void)Turn(end, /*of_caller=*/true); }
  void HandBack() override;

 private:
  // Lives as long as bytes of its tensors are on their way.
  using CallPointer = std::shared_ptr<ExchangeCall>;

  // `waits`: the caller will take over next, so nobody need be woken.
  void Post(std::function<void()> task, bool waits = false);
  void Run();
  // The rest on the thread that owns the turn.
  void TakeTasks();
  // Sleeps until something can move, at the latest until `end`, and moves it. False: nothing was
  // done, since a caller has taken over from the thread.
  bool Turn(Clock::time_point end, bool of_caller);
  int PollTime(Clock::time_point end) const;  // milliseconds, as poll takes them
  // Before poll, for what it does not see: whether there is something to move already.
  bool ReadyUnpolled(Clock::time_point end, bool of_caller);
  void LosePeer(int peer, const absl::Status& why);
  void Connect(const CallPointer& call);
  // Hands back what is over.
  void Sweep();
  // Begins the call, or puts it behind those of its order that have to begin first.
  void Begin(const CallPointer& call);
  // The call is over: another one may begin.
  void End(const CallPointer& call);
  // Begins what the call can begin. Whether it is over.
  bool Advance(const CallPointer& call);
  void Forget(int32_t group);

  std::vector<std::unique_ptr<Connection>> connections_;  // by rank; null: own, or lost
  std::unique_ptr<Polled> door_;
  const size_t slices_pay_from_;  // bytes
  // Calls that follow one another alike on all ranks that make them: of a group, all collectives,
  // or the messages from one rank to another. So the first that is open is open, or will be, on the
  // others too, and those that wait for it block nobody.
  using Order = std::tuple<int32_t, int, int>;
  struct Line {
    size_t open = 0;
    std::deque<CallPointer> waiting = {};  // until fewer than kMostOpenCalls are open
  };
  static Order OrderOf(const ExchangeCall& call);

  std::list<CallPointer> calls_;                // open
  std::map<Order, Line> lines_;                 // of those that are open
  std::map<int32_t, ExchangeOptions> options_;  // by group
  bool moved_ = false;                          // there may be more to move at once

  std::mutex tasks_mutex_;
  std::condition_variable closed_changed_;
  std::vector<std::function<void()>> tasks_;
  std::vector<std::pair<int, ControlMessage>> messages_;
  bool closing_ = false, closed_ = false, stop_ = false;
  TurnOwner owner_;
  std::thread thread_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_ENGINE_H_
