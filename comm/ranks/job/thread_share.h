// The number of threads of a rank when several ranks share a machine.

#ifndef DTNN_COMM_RANKS_JOB_THREAD_SHARE_H_
#define DTNN_COMM_RANKS_JOB_THREAD_SHARE_H_

#include <string>

namespace dtnn {

struct ThreadShare {
  int threads = 1;  // at least 1
  std::string warning =
      {};  // one line where cores stay idle that the ranks could have used; else empty
};

// `allowed`: processors that this process may run on; `present`: those that the processes of the
// run on this machine have between them; `ranks`: how many these are. Each takes its share, or less
// where the launcher has bound it to less.
ThreadShare ShareThreads(int allowed, int present, int ranks);

// For this machine and the program that launched this one, whose processors are there to be shared.
// With OMP_NUM_THREADS set: that number, as ever.
ThreadShare ShareThreadsHere(int ranks);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_THREAD_SHARE_H_
