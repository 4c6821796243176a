// convolution.best_of_file: what a tuner has decided, from run to run.

#ifndef DTNN_MODELS_RUN_PARTS_BEST_OF_FILE_H_
#define DTNN_MODELS_RUN_PARTS_BEST_OF_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/best_of/best_of.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// None without the option, and where there is no such file yet.
absl::StatusOr<Decisions> LoadDecisions(const RunOptions& options);
// Whether it can be read and written: asked before anything is timed, which takes minutes.
absl::Status CheckBestOfFile(const RunOptions& options);
// Where the option is given and something was decided by timing. Adds what the file lacks by then:
// other machines may have saved theirs while this one timed.
absl::Status SaveDecisions(const RunOptions& options, const BestOf& best_of);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_BEST_OF_FILE_H_
