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
  body(omp_get_thread_num());
}

void ParallelFor(int64_t begin, int64_t end, int64_t grain,
                 absl::FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t count = end - begin;
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t grains = (count + grain - 1) / grain;
  const int threads = int(std::min<int64_t>(NumThreads(), grains));
  if (threads <= 1) {
    body(begin, end);
    return;
  }
  ParallelThreads(threads, [&](int thread) {
    const int64_t first = begin + grains * thread / threads * grain;
    const int64_t last = std::min(end, begin + grains * (thread + 1) / threads * grain);
    if (first < last) body(first, last);
  });
}

}  // namespace dtnn
