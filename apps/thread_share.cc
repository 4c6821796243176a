#include "apps/thread_share.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tensor/parallel_for.h"

namespace dtnn {
namespace {

// Processors that a process may run on; 0: this one.
int ProcessorsOf(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(process, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

ThreadShare ShareThreads(int allowed, int present, int ranks) {
  const int share = std::max(1, present / std::max(1, ranks));
  // Who is bound to a socket shares it with others.
  const int threads = std::clamp(allowed, 1, share);
  if (threads >= share) return {.threads = threads};
  return {.threads = threads,
          .warning = absl::StrCat("each of the ", ranks, " processes on this machine is bound to ",
                                  allowed, " of its ", present,
                                  " processors; mpirun --bind-to none lets each use ", share)};
}

ThreadShare ShareThreadsHere(int ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return {.threads = NumThreads()};
  const int allowed = ProcessorsOf(0);
  return ShareThreads(allowed, std::max(allowed, ProcessorsOf(getppid())), ranks);
}

}  // namespace dtnn
