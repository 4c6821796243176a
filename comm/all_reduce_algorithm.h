// How ranks sum large tensors: the names of the algorithms, and which of them comm/ranks/mpi uses.

#ifndef DTNN_COMM_ALL_REDUCE_ALGORITHM_H_
#define DTNN_COMM_ALL_REDUCE_ALGORITHM_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace dtnn {

enum class AllReduceAlgorithm : uint8_t { kRing, kHalvingDoubling, kHierarchical };

inline constexpr std::array kAllReduceAlgorithms = {AllReduceAlgorithm::kRing,
                                                    AllReduceAlgorithm::kHalvingDoubling,
                                                    AllReduceAlgorithm::kHierarchical};

std::string_view Name(AllReduceAlgorithm algorithm);

// How ranks are spread over nodes (hosts).
struct Placement {
  int64_t nodes = 1, ranks_per_node = 1;  // of the node that has most
  bool even = true;                       // every node has as many
  bool in_order = true;                   // ranks are numbered node by node
};

// `nodes`: each rank's node, numbered in any way.
Placement PlacementOf(std::span<const int> nodes);

// From so many bytes on an all-reduce may go in stages.
inline constexpr int64_t kStagedBytes = 64 << 10;

// Whether comm/ranks/mpi sums large tensors in stages. Halving-doubling exchanges with the nearest
// ranks first, when messages are largest: where ranks are numbered node by node, a power of two
// each, those are on the same node, and as little goes over the network as with the hierarchical
// algorithm. Elsewhere its large messages cross (2 nodes of 3: three times the bytes).
bool StagesPay(const Placement& placement);

// This variable says how Open MPI sums what is not summed in stages; comm/ranks/mpi sets the
// value where the user has set none. With it alone the bits of a sum do not depend on how a tensor
// is cut.
inline constexpr char kMpiAlgorithmVariable[] = "OMPI_MCA_coll_libnbc_iallreduce_algorithm";
inline constexpr char kMpiAlgorithm[] = "3";
// Whether the user has set another one.
bool OtherMpiAlgorithm();

// What comm/ranks/mpi uses, unless the user has set another.
AllReduceAlgorithm AllReduceAlgorithmFor(const Placement& placement, int64_t bytes);

}  // namespace dtnn

#endif  // DTNN_COMM_ALL_REDUCE_ALGORITHM_H_
