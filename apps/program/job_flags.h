// The flags that say how a rank meets the others, turned into the environment that says the same
// (comm/launch_place.h, comm/ranks/job/job_environment.h) before anything reads it: one
// rank reports a wrong flag for all, so that they must meet even then.

#ifndef DTNN_APPS_PROGRAM_JOB_FLAGS_H_
#define DTNN_APPS_PROGRAM_JOB_FLAGS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

// Reads a command line that may be wrong elsewhere. --transport, --rendezvous and --elastic outrank
// PYMPI_PROTO, PYMPI_ADDR, PYMPI_PORT and DTNN_JOB_ELASTIC, which this sets. Usage error for
// --elastic where ranks were started together without it, and for an address that is none; an
// unknown transport is left to the parser. Call it before any thread is started.
absl::Status AdoptJobFlags(std::span<const std::string> arguments);

// The other way round: --elastic, where the launcher has set DTNN_JOB_ELASTIC, since other flags
// must go with it.
void AddJobFlags(std::vector<std::string>& arguments);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_JOB_FLAGS_H_
