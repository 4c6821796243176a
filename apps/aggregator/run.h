// The aggregator of a federation as a program: the network and what the rounds are, in options;
// each round on the disk before the next one begins.

#ifndef DTNN_APPS_AGGREGATOR_RUN_H_
#define DTNN_APPS_AGGREGATOR_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/aggregator/aggregator_flags.h"

namespace dtnn {

// Until all rounds are done. What is known before a client comes is checked first.
absl::Status RunAggregator(const AggregatorFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_RUN_H_
