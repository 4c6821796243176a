// What each rank of a job gets: its host, and the variables by which it finds the others.

#ifndef DTNN_APPS_LAUNCH_JOB_DESCRIPTION_H_
#define DTNN_APPS_LAUNCH_JOB_DESCRIPTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "apps/launch/rank_child.h"
#include "apps/launch/run.h"
#include "comm/transport/tcp/socket.h"

namespace dtnn {

struct JobDescription {
  std::vector<RankChildOptions> ranks;
  // Rank 0 inherits it; none where that runs on another host. With --elastic the launcher itself
  // keeps it.
  Socket listener{};
  Variables coordinator = {};  // the variables of the launcher itself then
};

// Ranks are divided among the hosts in blocks. Usage errors name the flag.
absl::StatusOr<JobDescription> DescribeJob(const LaunchOptions& options);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_JOB_DESCRIPTION_H_
