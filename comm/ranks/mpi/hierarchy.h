// An all-reduce over hosts with several ranks each, in stages, each of them one nonblocking MPI
// call of every rank:
//   kWithin   all-reduce among the ranks of a host,
//   kAcross   all-reduce of one slice per rank among those of the same place on all hosts,
//   kGather   all-gather of the slices among the ranks of a host.
// Between hosts a tensor goes as if every host were one rank, but from all its ranks at once. Every
// stage has a communicator of its own, so that several all-reduces may be under way; each stage
// must be begun in the same order of all-reduces on all ranks.

#ifndef DTNN_COMM_RANKS_MPI_HIERARCHY_H_
#define DTNN_COMM_RANKS_MPI_HIERARCHY_H_

#include <array>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/ranks/mpi/mpi_api.h"

namespace dtnn {

class Hierarchy {
 public:
  enum Stage : int { kWithin, kAcross, kGather, kStages };

  // The slices of a tensor by place on a host; MPI reads them until the last stage is complete.
  struct Slices {
    std::vector<int> counts, begins;
  };

  // By stage, and a group's alone. Every host has the same number of ranks.
  explicit Hierarchy(const std::array<MPI_Comm, kStages>& comms);

  // Appends what is to be completed before the next stage to `requests`. `call` is an all-reduce of
  // at most MpiOptions::max_count elements. `slices` is the call's own, set by the first stage.
  absl::Status Begin(Stage stage, const Collective& call, Slices& slices,
                     std::vector<MPI_Request>& requests) const;
  // Not after the group broke.
  void Free();

 private:
  Slices Cut(int elements) const;

  std::array<MPI_Comm, kStages> comms_;
  int place_ = 0, ranks_here_ = 1;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_HIERARCHY_H_
