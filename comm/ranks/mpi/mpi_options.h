// What only the MPI transport has a choice of.

#ifndef DTNN_COMM_RANKS_MPI_MPI_OPTIONS_H_
#define DTNN_COMM_RANKS_MPI_MPI_OPTIONS_H_

#include <cstdint>
#include <limits>

#include "comm/all_reduce_algorithm.h"

namespace dtnn {

struct MpiOptions {
  // True: MPI reduces the tensors where they lie. False: every all-reduce gathers all ranks'
  // tensors and adds them up in the order of ranks on each of them, and calls are checked. Slow,
  // p times the memory, and the very bits of ranks that are threads (local.h).
  bool buffers = true;
  // From so many bytes on an all-reduce goes in stages (hierarchy.h) where that pays; a test makes
  // it small.
  int64_t staged_bytes = kStagedBytes;
  // Elements per MPI call; a test makes it small, to try with small tensors what large ones need.
  int64_t max_count = std::numeric_limits<int32_t>::max();
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_MPI_OPTIONS_H_
