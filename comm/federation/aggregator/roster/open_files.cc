#include "comm/federation/aggregator/roster/open_files.h"

#include <sys/resource.h>

#include <algorithm>

#include "tensor/errors.h"

namespace dtnn::federation {

absl::StatusOr<int64_t> ConnectionsThatFilesAllow(int64_t wanted, int64_t least, int64_t files) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const auto needed = rlim_t(files * wanted + kOtherFiles);  // RLIM_INFINITY is more than all
  if (limit.rlim_cur < needed) {
    const rlimit raised = {.rlim_cur = std::min(limit.rlim_max, needed),
                           .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= needed) return wanted;
  const int64_t allowed = (int64_t(limit.rlim_cur) - kOtherFiles) / files;
  if (allowed >= least) return allowed;
  return ResourceExhausted("rounds of ", least, " clients need ", files * least + kOtherFiles,
                           " open files, and the system allows ", int64_t(limit.rlim_cur),
                           "; raise the hard limit (ulimit -Hn), or begin with fewer clients");
}

}  // namespace dtnn::federation
