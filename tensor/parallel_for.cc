#include "tensor/parallel_for.h"

#include <omp.h>

#include <algorithm>

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define DTNN_UNSEEN_BY_TSAN __attribute__((no_sanitize_thread))
#else
#define DTNN_UNSEEN_BY_TSAN
#endif

namespace dtnn {
namespace {

// GCC's OpenMP runtime is not built for ThreadSanitizer, which therefore knows nothing of the order
// that the start and the end of a parallel region impose, and must be told: what comes before
// Release(p) in one thread comes before what follows Acquire(p) in another.
#ifdef __SANITIZE_THREAD__
void Acquire(void* place) { __tsan_acquire(place); }
void Release(void* place) { __tsan_release(place); }
#else
void Acquire(void*) {}
void Release(void*) {}
#endif

// More than any machine's processors: a slip in OMP_NUM_THREADS must not exhaust the stack, on
// which OpenMP keeps its list of threads.
constexpr int kMaxThreads = 1024;

}  // namespace

int NumThreads() { return omp_in_parallel() ? 1 : std::min(omp_get_max_threads(), kMaxThreads); }

void SetNumThreads(int threads) { omp_set_num_threads(std::clamp(threads, 1, kMaxThreads)); }

DTNN_UNSEEN_BY_TSAN void ParallelThreads(int threads, absl::FunctionRef<void(int)> body) {
  threads = std::min(threads, NumThreads());
  if (threads <= 1) {
    body(0);
    return;
  }
  char start, end;  // only their addresses matter
  Release(&start);
#pragma omp parallel num_threads(threads)
  {
    Acquire(&start);
    // The team may be smaller than asked for (OMP_THREAD_LIMIT, OMP_DYNAMIC); no part may be lost.
    for (int t = omp_get_thread_num(); t < threads; t += omp_get_num_threads()) body(t);
    Release(&end);
  }
  Acquire(&end);
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
