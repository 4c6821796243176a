// Ranks that are threads of one process: for tests, and for several models in one program.
//
// No thread of its own: a collective is cut into chunks, and a rank that waits for it, once all
// ranks have called it, takes the next chunk until none is left. So a rank that does other work
// after an asynchronous call does not delay the others. Sums are computed in the order rank 0 +
// rank 1 + ... Mismatched calls are always found. Host memory only. A rank whose communicator is
// destroyed while others still need it gives them Unavailable. A timeout limits the wait for the
// others; the transfer itself, once all are there, is not cut off.

#ifndef DTNN_COMM_LOCAL_H_
#define DTNN_COMM_LOCAL_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"

namespace dtnn {

class LocalGroup {
 public:
  // Element r is rank r, to be used by one thread. InvalidArgument for size < 1.
  static absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> Create(
      int size, const CommunicatorOptions& options = {});
};

// Calls `body` once per rank, each on a thread of its own, and returns when all have returned: the
// first error in time, or OK. A rank that returns an error breaks the group, so none waits for it.
absl::Status RunRanks(int size, absl::FunctionRef<absl::Status(Communicator&)> body,
                      const CommunicatorOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_COMM_LOCAL_H_
