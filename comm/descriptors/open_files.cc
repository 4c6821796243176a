#include "comm/descriptors/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace dtnn {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// RLIM_INFINITY is more than all.
int64_t NumberOf(rlim_t files) { return int64_t(std::min(files, rlim_t(kNoLimit))); }

}  // namespace

int64_t OpenFilesAllowed() { return AllowOpenFiles(0); }

int64_t AllowOpenFiles(int64_t needed) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kNoLimit;
  if (limit.rlim_cur < rlim_t(needed)) {
    const rlimit raised = {.rlim_cur = std::min(limit.rlim_max, rlim_t(needed)),
                           .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return NumberOf(limit.rlim_cur);
}

void LimitOpenFiles(int64_t files) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || NumberOf(limit.rlim_cur) <= files) return;
  limit.rlim_cur = rlim_t(files);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace dtnn
