// Paths as the user means them: relative to where the user stands.

#ifndef DTNN_APPS_PROGRAM_PATHS_H_
#define DTNN_APPS_PROGRAM_PATHS_H_

#include "absl/status/status.h"

namespace dtnn {

// Makes the user's directory the working directory. `bazel run` starts programs elsewhere, in a
// tree of its own, and names the user's directory in BUILD_WORKING_DIRECTORY; without that variable
// nothing happens. Call it first in main, before any file is opened and any thread started.
absl::Status EnterUserDirectory();

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_PATHS_H_
