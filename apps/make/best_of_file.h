// --best-of-file: what a tuner has decided, from run to run.

#ifndef DTNN_APPS_MAKE_BEST_OF_FILE_H_
#define DTNN_APPS_MAKE_BEST_OF_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "kernels/best_of/best_of.h"

namespace dtnn {

// None without the option, and where there is no such file yet.
absl::StatusOr<Decisions> LoadDecisions(const Options& options);
// Whether it can be read and written: asked before anything is timed, which takes minutes.
absl::Status CheckBestOfFile(const Options& options);
// Where the option is given and something was decided by timing. What was loaded stays in the file.
absl::Status SaveDecisions(const Options& options, const BestOf& best_of);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_BEST_OF_FILE_H_
