// The calls of one group that MPI carries out, and the communicators of the group.
//
// A state machine on MPI's thread that never blocks. A call passes through
//   kSignature  (checked calls) all ranks' signatures are exchanged and compared,
//   kTurn       every earlier call of its kind (collectives; messages of one pair) has begun, so
//               that MPI sees the same order on all ranks,
//   kTransfer   MPI moves the bytes, in several stages where hierarchy.h has a part in it,
// and is handed back. Calls of a group that broke stay here, with their tensors: nobody can take
// them from MPI, which may still write to them.

#ifndef DTNN_COMM_RANKS_MPI_GROUP_TRANSFERS_H_
#define DTNN_COMM_RANKS_MPI_GROUP_TRANSFERS_H_

#include <array>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/ranks/group/group.h"
#include "comm/ranks/mpi/hierarchy.h"
#include "comm/ranks/mpi/mpi_api.h"
#include "comm/ranks/mpi/mpi_options.h"
#include "tensor/tensor.h"

namespace dtnn {

class GroupTransfers {
 public:
  // The group's alone.
  struct Comms {
    MPI_Comm data = MPI_COMM_NULL;
    MPI_Comm signatures = MPI_COMM_NULL;  // where calls are checked
    // By stage, where all-reduces go in stages.
    std::array<MPI_Comm, Hierarchy::kStages> stages = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  };
  // What became of an operation, and the tensors of all ranks where the caller is to reduce them.
  using Finished = absl::FunctionRef<void(const std::shared_ptr<Operation>&, const absl::Status&,
                                          Tensor gathered)>;

  GroupTransfers(std::shared_ptr<Group> group, const Comms& comms, const MpiOptions& mpi);

  Group& group() const { return *group_; }
  bool idle() const { return transfers_.empty(); }
  bool in_flight() const { return !idle() && !failed_ && !group_->is_broken(); }

  void Start(std::shared_ptr<Operation> operation);
  // Lets MPI move on; true where a call has come further.
  bool Progress(Finished finished);
  // Frees MPI's communicators; not after the group broke, nor with calls on their way.
  void Free();

 private:
  enum class Step : uint8_t { kSignature, kTurn, kTransfer, kDone };

  struct Transfer {
    std::shared_ptr<Operation> operation;
    Step step = Step::kTurn;
    std::vector<MPI_Request> requests = {};
    // In an all-reduce with stages: the last that was begun (-1: none), and what they share.
    int stage = -1;
    Hierarchy::Slices slices = {};
    std::vector<CallSignature> signatures = {};  // by rank; of a message: the sender's, receiver's
    Tensor gathered = {};

    const Collective& call() const { return operation->call; }
    const CallKey& key() const { return operation->key; }
  };

  // The sum in rank order, computed by the caller, or the arguments of MPI's call.
  bool gathers(const Transfer& transfer) const;
  // Whether the call goes in stages; the same on all ranks.
  bool staged(const Transfer& transfer) const;
  bool checked() const { return comms_.signatures != MPI_COMM_NULL; }
  absl::Status BeginSignatures(Transfer& transfer);
  absl::Status CompareSignatures(const Transfer& transfer) const;
  absl::Status Begin(Transfer& transfer);
  absl::Status BeginStage(Transfer& transfer);
  // As far as it gets now.
  absl::Status Advance(Transfer& transfer, bool& moved);
  bool HasTurn(const Transfer& transfer) const;
  // Every earlier call in stages has begun the transfer's next one.
  bool HasTurnOfStage(const Transfer& transfer) const;

  const std::shared_ptr<Group> group_;
  Comms comms_;
  const MpiOptions mpi_;
  std::optional<Hierarchy> hierarchy_;
  std::list<Transfer> transfers_;  // in the order of calls
  bool failed_ = false;            // MPI is not asked again
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_GROUP_TRANSFERS_H_
