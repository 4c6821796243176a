// Drives all communicators of an MPI process.
//
// Every MPI call is made under one lock, and none of them blocks, or a guard ends it. Whoever waits
// for a call polls MPI himself, so there is no hand-over between threads where it matters; a thread
// of the engine polls now and then, often while asynchronous calls are on their way and nobody
// waits, rarely otherwise: then it only answers the other ranks' questions. A waiting rank spins
// for a moment, then yields, then sleeps briefly between polls: ranks may share cores.

#ifndef DTNN_COMM_MPI_ENGINE_H_
#define DTNN_COMM_MPI_ENGINE_H_

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/mpi/call_guard.h"
#include "comm/mpi/control.h"
#include "comm/mpi/group.h"
#include "comm/mpi/mpi_api.h"
#include "comm/mpi/mpi_options.h"
#include "comm/mpi/peer_processes.h"
#include "comm/patience.h"

namespace dtnn {

class Engine {
 public:
  // Who communicates: all ranks, and, where all-reduces go in stages (hierarchy.h), those of this
  // host and those of the same place on all hosts.
  struct Ranks {
    MPI_Comm world = MPI_COMM_NULL, here = MPI_COMM_NULL, across = MPI_COMM_NULL;
  };

  // `control` has the ranks of the world, and nobody else uses it. `processes` is by rank.
  // `crowded`: the ranks of this host have to share cores.
  Engine(const Ranks& ranks, MPI_Comm control, int rank, std::vector<ProcessId> processes,
         bool crowded);
  ~Engine();

  // For those who call MPI themselves.
  std::mutex& mutex() { return mutex_; }

  // All ranks call it together. Waits for them, as the options say.
  absl::StatusOr<std::shared_ptr<Group>> CreateGroup(const CommunicatorOptions& options,
                                                     const MpiOptions& mpi);
  std::shared_ptr<Operation> Start(Group& group, const Collective& call);
  absl::Status Await(Group& group, const Operation& operation);
  void AwaitDeparture(Group& group, int rank, std::chrono::milliseconds timeout);
  void GiveUp(Group& group, const absl::Status& why);
  void Leave(const std::shared_ptr<Group>& group);
  std::vector<int> Lost(Group& group);

  // A group broke: MPI_Finalize would wait for ranks that are gone.
  bool broken();
  // MPI hangs: not even MPI_Finalize may be called.
  bool stuck() const { return guard_.stuck(); }
  // Stops the thread and gives messages on their way a moment. Nothing else may follow.
  void Stop();

 private:
  using Clock = Patience::Clock;

  void Run();
  // Under the lock.
  bool Poll(bool also_control);
  void Receive(int from, const ControlMessage& message);
  // Gives way between two polls of a wait that has lasted `waited`; without the lock.
  void Relax(Clock::duration waited) const;
  absl::Status AwaitRequest(MPI_Request& request, const CommunicatorOptions& options);
  // A group's own communicator of the ranks of another. Waits for them.
  absl::StatusOr<MPI_Comm> Duplicate(MPI_Comm ranks, const CommunicatorOptions& options);
  absl::StatusOr<Group::Comms> MakeComms(const CommunicatorOptions& options, const MpiOptions& mpi);
  // Warns or breaks the group, as the verdict says.
  void Act(Patience::Verdict verdict, const Patience& patience, Clock::time_point now, Group& group,
           const Operation& operation, const Group::Absence& absence,
           std::unique_lock<std::mutex>& lock);

  const Ranks ranks_;
  const int rank_, size_;
  const std::vector<ProcessId> processes_;
  const bool crowded_;
  CallGuard guard_;
  std::mutex mutex_;
  std::condition_variable wake_;
  ControlChannel control_;
  std::vector<std::shared_ptr<Group>> groups_;
  int32_t next_group_ = 0;
  // Messages for groups that other ranks have made already.
  std::map<int32_t, std::vector<std::pair<int, ControlMessage>>> early_;
  int waiting_ = 0;    // threads that poll
  int pushed_ = 0;     // calls since the last poll of the thread that nobody waits for at once
  bool idle_ = false;  // the thread sleeps until woken
  bool broken_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_ENGINE_H_
