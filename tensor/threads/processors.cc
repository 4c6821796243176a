#include "tensor/threads/processors.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tensor/machine/control_groups.h"

namespace dtnn {

namespace {

// By the processors that the process is bound to.
int CountProcessors(pid_t process) {
  constexpr int kMost = 1 << 20;
  // The system refuses sets that are smaller than its own.
  for (int size = 1024; size <= kMost; size *= 2) {
    cpu_set_t* const set = CPU_ALLOC(size_t(size));
    if (set == nullptr) return 1;
    const size_t bytes = CPU_ALLOC_SIZE(size_t(size));
    CPU_ZERO_S(bytes, set);
    const bool told = sched_getaffinity(process, bytes, set) == 0;
    const bool too_small = !told && errno == EINVAL;
    const int count = told ? CPU_COUNT_S(bytes, set) : 1;
    CPU_FREE(set);
    if (!too_small) return std::max(1, count);
  }
  return 1;
}

}  // namespace

int WithinQuota(int processors, std::optional<double> quota) {
  if (!quota || *quota >= processors) return processors;
  return std::max(1, int(std::lround(*quota)));
}

int ProcessorsOf(pid_t process) {
  static const std::optional<double> quota = ProcessorQuota();
  return WithinQuota(CountProcessors(process), quota);
}

int ProcessorsOfLauncher() { return std::max(ProcessorsOf(0), ProcessorsOf(getppid())); }

}  // namespace dtnn
