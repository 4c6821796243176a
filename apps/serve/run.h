// A server of models, from its first listening to a signal.

#ifndef DTNN_APPS_SERVE_RUN_H_
#define DTNN_APPS_SERVE_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/serve/serve_options.h"

namespace dtnn {

// Returns after SIGTERM or SIGINT, with an error where not all requests could be answered in time.
// SIGHUP loads the models again. The signals are blocked meanwhile, and received here. `out` gets
// the address and what is loaded, `errors` the warnings.
absl::Status Serve(const ServeOptions& options, std::ostream& out, std::ostream& errors);

}  // namespace dtnn

#endif  // DTNN_APPS_SERVE_RUN_H_
