// The flags that say how a rank meets the others, read before the command line is checked: one rank
// reports a wrong flag for all, so that they must meet even then.

#ifndef DTNN_APPS_PROGRAM_JOB_FLAGS_H_
#define DTNN_APPS_PROGRAM_JOB_FLAGS_H_

#include <span>
#include <string>
#include <vector>

#include "comm/launch_place.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// What --transport, --rendezvous and --elastic say; the rest of the command line may be wrong. A
// value that is wrong itself counts as not given, and is left to the parser.
RankOptions JobFlags(std::span<const std::string> arguments);

// Adds --elastic where the place says so and the arguments do not: other flags must go with it.
void AddElastic(const LaunchPlace& place, std::vector<std::string>& arguments);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_JOB_FLAGS_H_
