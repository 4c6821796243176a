// The communicators of an MPI process, between the threads that use them and those that serve them.
//
// Three kinds of threads meet here, under one lock that nobody holds while he calls MPI:
//  - callers hand in calls and wait on a condition variable, as long as their options say;
//  - MPI's thread (mpi_thread.h) carries the calls out (carrier.h) and reports what is done;
//  - the channel's thread (control_channel.h) answers the other ranks, and hears who is lost.
// So a rank asks, answers, gives up and saves its work while MPI hangs.

#ifndef DTNN_COMM_MPI_ENGINE_H_
#define DTNN_COMM_MPI_ENGINE_H_

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/mpi/carrier.h"
#include "comm/mpi/control/control_channel.h"
#include "comm/mpi/group.h"
#include "comm/mpi/mpi_options.h"
#include "comm/mpi/mpi_thread.h"
#include "comm/mpi/mpi_world.h"
#include "comm/patience.h"

namespace dtnn {

class Engine {
 public:
  // The thread has ended, or the engine lives for ever.
  Engine(MpiThread& thread, MpiWorld world);

  // The ranks that datagrams from here do not reach and come back from within `limit`.
  std::vector<int> Greet(std::chrono::milliseconds limit);
  const MpiWorld& world() const { return world_; }
  // All ranks call it together. Waits for them, as the options say.
  absl::StatusOr<std::shared_ptr<Group>> CreateGroup(const CommunicatorOptions& options,
                                                     const MpiOptions& mpi);
  std::shared_ptr<Operation> Start(const std::shared_ptr<Group>& group, const Collective& call);
  absl::Status Await(Group& group, Operation& operation);
  // The rank's farewell; nothing where it is lost, or has not left in time.
  std::optional<int32_t> AwaitDeparture(Group& group, int rank, std::chrono::milliseconds timeout);
  void SetFarewell(Group& group, int32_t word);
  void GiveUp(Group& group, const absl::Status& why);
  void Leave(const std::shared_ptr<Group>& group);
  std::vector<int> Lost(const Group& group);

  // A group broke: MPI_Finalize would wait for ranks that are gone.
  bool broken();
  // Gives messages on their way a moment.
  void Flush();

 private:
  using Clock = Patience::Clock;

  // A group on its way into being: MPI makes its communicators one after another.
  struct Creation {
    std::shared_ptr<Group> group;
    std::shared_ptr<Operation> operation;  // of the world
    MpiOptions mpi;
    Carrier::Comms comms = {};
    std::vector<std::pair<MPI_Comm, MPI_Comm*>> steps = {};  // from which; to where
    size_t step = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    bool failed = false;  // stays: MPI may still write to it
  };
  struct Carried {
    Carrier carrier;
    bool leaves = false;  // as soon as it is idle
  };

  absl::Status AwaitWith(Group& group, Operation& operation, const CommunicatorOptions& options);
  // On the channel's thread.
  void Receive(int from, const ControlMessage& message);
  // On MPI's thread.
  MpiThread::Progress Progress();
  bool Create();
  absl::StatusOr<bool> MakeNext(Creation& creation);
  void Finish(Group& group, const std::shared_ptr<Operation>& operation, const absl::Status& status,
              Tensor gathered);
  void FreeIdle();

  MpiThread& thread_;
  MpiWorld world_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Group> all_;  // of all ranks: its collectives are the creations of the others
  std::map<int32_t, std::shared_ptr<Group>> groups_;  // by number; those left still say so
  int32_t next_group_ = 1;
  bool broken_ = false;
  std::list<Creation> creations_;  // of MPI's thread, as are:
  std::list<Carried> carried_;
  ControlChannel channel_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_ENGINE_H_
