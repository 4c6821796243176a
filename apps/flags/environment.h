// The environment variables that choose how ranks talk to each other, all of which begin with
// PYMPI_, and the one that says how many threads compute, OMP_NUM_THREADS.

#ifndef DTNN_APPS_FLAGS_ENVIRONMENT_H_
#define DTNN_APPS_FLAGS_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "comm/launch_place.h"

namespace dtnn {

// Warnings about `environment` ("NAME=value" each, then null): a line for all unknown variables,
// one for those of no use with this transport, and one for a number of threads that is not valid.
std::vector<std::string> EnvironmentWarnings(const char* const* environment, Transport transport);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_ENVIRONMENT_H_
