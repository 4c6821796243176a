// A federation in one process: the data set, divided among clients, and rounds of the code that an
// aggregator and its clients run (comm/federation/simulation).

#ifndef DTNN_APPS_SIMULATE_RUN_H_
#define DTNN_APPS_SIMULATE_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/simulate/simulate_flags.h"

namespace dtnn {

// Until all rounds are done, with NumThreads() threads.
absl::Status Simulate(const SimulateFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_SIMULATE_RUN_H_
