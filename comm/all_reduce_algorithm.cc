#include "comm/all_reduce_algorithm.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>

namespace dtnn {

std::string_view Name(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return "ring";
    case AllReduceAlgorithm::kHalvingDoubling:
      return "halving-doubling";
    case AllReduceAlgorithm::kHierarchical:
      return "hierarchical";
  }
  return "?";
}

Placement PlacementOf(std::span<const int> nodes) {
  std::map<int, int64_t> sizes;
  Placement placement;
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    const bool new_node = sizes[nodes[rank]]++ == 0;
    placement.in_order &= rank == 0 || new_node || nodes[rank] == nodes[rank - 1];
  }
  placement.nodes = int64_t(sizes.size());
  for (const auto& [node, size] : sizes) {
    placement.even &= size == sizes.begin()->second;
    placement.ranks_per_node = std::max(placement.ranks_per_node, size);
  }
  return placement;
}

bool StagesPay(const Placement& placement) {
  const bool near = placement.in_order && std::has_single_bit(uint64_t(placement.ranks_per_node));
  return placement.even && placement.nodes > 1 && !near;
}

bool OtherMpiAlgorithm() {
  const char* const set = std::getenv(kMpiAlgorithmVariable);
  return set != nullptr && std::string_view(set) != kMpiAlgorithm;
}

AllReduceAlgorithm AllReduceAlgorithmFor(const Placement& placement, int64_t bytes) {
  return StagesPay(placement) && bytes >= kStagedBytes ? AllReduceAlgorithm::kHierarchical
                                                       : AllReduceAlgorithm::kHalvingDoubling;
}

}  // namespace dtnn
