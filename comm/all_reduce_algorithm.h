// How ranks sum large tensors: the names of the algorithms, and which of them comm/mpi uses.

#ifndef DTNN_COMM_ALL_REDUCE_ALGORITHM_H_
#define DTNN_COMM_ALL_REDUCE_ALGORITHM_H_

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace dtnn {

enum class AllReduceAlgorithm : uint8_t { kRing, kHalvingDoubling, kHierarchical };

inline constexpr std::array kAllReduceAlgorithms = {AllReduceAlgorithm::kRing,
                                                    AllReduceAlgorithm::kHalvingDoubling,
                                                    AllReduceAlgorithm::kHierarchical};

std::string_view Name(AllReduceAlgorithm algorithm);

// Of comm/mpi, for `nodes` of `ranks_per_node` each. Halving-doubling exchanges with the nearest
// ranks first, when messages are largest: where nodes hold a power of two of ranks those are on the
// same node, and as little goes over the network as with the hierarchical algorithm. Elsewhere its
// large messages cross (2 nodes of 3: three times the bytes).
constexpr AllReduceAlgorithm AllReduceAlgorithmFor(int64_t nodes, int64_t ranks_per_node) {
  return nodes > 1 && !std::has_single_bit(uint64_t(ranks_per_node))
             ? AllReduceAlgorithm::kHierarchical
             : AllReduceAlgorithm::kHalvingDoubling;
}

}  // namespace dtnn

#endif  // DTNN_COMM_ALL_REDUCE_ALGORITHM_H_
