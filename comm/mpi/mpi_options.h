// What only the MPI transport has a choice of.

#ifndef DTNN_COMM_MPI_MPI_OPTIONS_H_
#define DTNN_COMM_MPI_MPI_OPTIONS_H_

#include <cstdint>
#include <limits>

namespace dtnn {

struct MpiOptions {
  // True: MPI reduces the tensors where they lie. False: every all-reduce gathers all ranks'
  // tensors and adds them up in the order of ranks on each of them, and calls are checked. Slow,
  // p times the memory, and the very bits of ranks that are threads (local.h).
  bool buffers = true;
  // Bytes from which on an all-reduce over hosts goes in stages (hierarchy.h), where that pays
  // (all_reduce_algorithm.h).
  int64_t hierarchical_bytes = 64 << 10;
  // Elements per MPI call; a test makes it small, to try with small tensors what large ones need.
  int64_t max_count = std::numeric_limits<int32_t>::max();
};

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_MPI_OPTIONS_H_
