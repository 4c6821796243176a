#include "tensor/parallel_for.h"

#include <omp.h>

#include <algorithm>

namespace dtnn {

int NumThreads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void SetNumThreads(int threads) { omp_set_num_threads(std::max(1, threads)); }

void ParallelThreads(int threads, absl::FunctionRef<void(int)> body) {
  threads = std::min(threads, NumThreads());
  if (threads <= 1) {
    body(0);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    // The team may be smaller than asked for (OMP_THREAD_LIMIT, OMP_DYNAMIC); no part may be lost.
    for (int t = omp_get_thread_num(); t < threads; t += omp_get_num_threads()) body(t);
  }
}

void ParallelFor(int64_t begin, int64_t end, int64_t grain,
                 absl::FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t count = end - begin;
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  // A short last grain joins the count of those to share out, but earns no thread of its own.
  const int threads = int(std::min<int64_t>(NumThreads(), count / grain));
  if (threads <= 1) {
    body(begin, end);
    return;
  }
  const int64_t grains = count / grain + (count % grain != 0);
  const int64_t each = grains / threads, more = grains % threads;
  ParallelThreads(threads, [&](int thread) {
    const int64_t first = each * thread + std::min<int64_t>(thread, more);
    const int64_t last = first + each + (thread < more);
    body(begin + first * grain, last == grains ? end : begin + last * grain);
  });
}

}  // namespace dtnn
