#include "comm/ranks/job/thread_share.h"

#include <algorithm>
#include <cstdlib>

#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"
#include "tensor/threads/processors.h"

namespace dtnn {

ThreadShare ShareThreads(int allowed, int present, int ranks) {
  const int share = std::max(1, present / std::max(1, ranks));
  // A process that is bound to a socket shares it with others.
  const int threads = std::clamp(allowed, 1, share);
  if (threads >= share) return {.threads = threads};
  return {.threads = threads,
          .warning = StrCat("each of the ", ranks, " processes on this machine is bound to ",
                            allowed, " of its ", present,
                            " processors; with mpirun --bind-to none each can use ", share)};
}

ThreadShare ShareThreadsHere(int ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return {.threads = NumThreads()};
  return ShareThreads(ProcessorsOf(0), ProcessorsOfLauncher(), ranks);
}

}  // namespace dtnn
