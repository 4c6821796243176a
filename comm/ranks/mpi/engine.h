// The communicators of an MPI process: a GroupEngine whose calls MPI's thread (mpi_thread.h)
// carries out (group_transfers.h), while the channel's thread (control_channel.h) answers the other
// ranks.

#ifndef DTNN_COMM_RANKS_MPI_ENGINE_H_
#define DTNN_COMM_RANKS_MPI_ENGINE_H_

#include <chrono>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/group/control_message.h"
#include "comm/ranks/group/group.h"
#include "comm/ranks/group/group_engine.h"
#include "comm/ranks/mpi/control/control_channel.h"
#include "comm/ranks/mpi/group_transfers.h"
#include "comm/ranks/mpi/mpi_options.h"
#include "comm/ranks/mpi/mpi_thread.h"
#include "comm/ranks/mpi/mpi_world.h"

namespace dtnn {

class Engine : public GroupEngine {
 public:
  // The thread has ended, or the engine lives for ever.
  Engine(MpiThread& thread, MpiWorld world);

  // The ranks that datagrams from here do not reach and come back from within `limit`.
  std::vector<int> Greet(std::chrono::milliseconds limit);
  const MpiWorld& world() const { return world_; }

  // All ranks call it together. Waits for them, as the options say.
  absl::StatusOr<std::shared_ptr<Group>> CreateGroup(const CommunicatorOptions& options,
                                                     const MpiOptions& mpi);

  // Gives messages on their way a moment.
  void Flush();

 protected:
  void Carry(const std::shared_ptr<Group>& group, std::shared_ptr<Operation> operation) override;
  void Release(const std::shared_ptr<Group>& group) override;
  void Send(int to, const ControlMessage& message) override { channel_.Send(to, message); }
  void SetWaiting(bool waits) override { thread_.SetWaiting(waits); }

 private:
  // A group on its way into being: MPI makes its communicators one after another.
  struct Creation {
    std::shared_ptr<Group> group;
    std::shared_ptr<Operation> operation;  // of the world
    MpiOptions mpi;
    GroupTransfers::Comms comms = {};
    std::vector<std::pair<MPI_Comm, MPI_Comm*>> steps = {};  // from which; to where
    size_t step = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    bool failed = false;  // stays: MPI may still write to it
  };
  struct Carried {
    GroupTransfers transfers;
    bool leaves = false;  // as soon as it is idle
  };

  // On MPI's thread.
  MpiThread::Progress Progress();
  bool Create();
  absl::StatusOr<bool> MakeNext(Creation& creation);
  void FreeIdle();

  MpiThread& thread_;
  MpiWorld world_;
  std::list<Creation> creations_;  // of MPI's thread, as are:
  std::list<Carried> carried_;
  ControlChannel channel_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_ENGINE_H_
