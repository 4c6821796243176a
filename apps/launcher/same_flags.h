// Whether all ranks were started with the same flags, without which they would train apart.

#ifndef DTNN_APPS_LAUNCHER_SAME_FLAGS_H_
#define DTNN_APPS_LAUNCHER_SAME_FLAGS_H_

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "comm/communicator.h"

namespace dtnn {

// InvalidArgument on the ranks that differ from rank 0, naming the first option that does. Ranks
// with storage of their own may differ in names of files. All ranks call it together, with the
// options as they were given.
absl::Status CompareFlags(Communicator& communicator, const Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_SAME_FLAGS_H_
