// What each rank of a job is told: where it runs, and the variables by which it finds the others.

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
  // Of rank 0, which inherits it; none where that runs on another host. Of the launcher itself
  // where ranks come and go.
  Socket listener{};
  Variables coordinator = {};  // the variables of the launcher itself then
};

// Ranks are divided among the hosts in blocks. Usage errors name the flag.
absl::StatusOr<JobDescription> DescribeJob(const LaunchOptions& options);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_JOB_DESCRIPTION_H_
