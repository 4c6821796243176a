// Whether all ranks have the same options, without which they would train apart.

#ifndef DTNN_MODELS_RUN_PARTS_SAME_OPTIONS_H_
#define DTNN_MODELS_RUN_PARTS_SAME_OPTIONS_H_

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// A usage error on the ranks that differ from rank 0, naming the first member that does. Ranks with
// storage of their own may differ in names of files. All ranks call it together, with the options
// as they were given.
absl::Status CompareOptions(Communicator& communicator, const RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_SAME_OPTIONS_H_
