#include "tensor/threads/parallel_for.h"

#include <algorithm>
#include <cstdlib>

#include "tensor/threads/processors.h"
#include "tensor/threads/thread_team.h"

namespace dtnn {
namespace {

// More than any machine's processors: a slip in OMP_NUM_THREADS must not exhaust memory.
constexpr int kMaxThreads = 1024;
// Chunks per thread. One worker without a processor holds up at most one of its own; each costs a
// call and an atomic addition.
constexpr int kChunks = 4;

thread_local int threads_set = 0;   // 0: not set
thread_local bool in_loop = false;  // runs a body beside others

ThreadTeam& Team() {
  thread_local ThreadTeam team;
  return team;
}

// Runs body(thread, share, chunk) on the calling thread's team, with NumThreads() 1 inside.
void RunOnTeam(int threads, int chunks, absl::FunctionRef<void(int, int, int)> body) {
  Team().Run(threads, chunks, [&](int thread, int share, int chunk) {
    in_loop = true;
    body(thread, share, chunk);
    in_loop = false;
  });
}

// [0, count) in `parts` nearly equal contiguous parts: where part `index` begins.
int64_t PartBegin(int64_t count, int64_t parts, int64_t index) {
  return count / parts * index + std::min(count % parts, index);
}

}  // namespace

int DefaultThreads(const char* omp_num_threads, int processors) {
  const long wanted = omp_num_threads == nullptr ? 0 : std::strtol(omp_num_threads, nullptr, 10);
  return int(std::clamp<long>(wanted > 0 ? wanted : processors, 1, kMaxThreads));
}

int NumThreads() {
  if (in_loop) return 1;
  if (threads_set > 0) return threads_set;
  static const int threads = DefaultThreads(std::getenv("OMP_NUM_THREADS"), ProcessorsOf(0));
  return threads;
}

void SetNumThreads(int threads) { threads_set = std::clamp(threads, 1, kMaxThreads); }

void ParallelForWithScratch(int64_t count, int64_t grain, int threads,
                            absl::FunctionRef<void(int, int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  // A short last grain joins the count of those to share out, but earns no thread of its own.
  threads = int(std::min<int64_t>(std::min(threads, NumThreads()), count / grain));
  if (threads <= 1) {
    body(0, 0, count);
    return;
  }
  const int64_t grains = count / grain + (count % grain != 0);
  const int chunks = int(std::min<int64_t>(kChunks, grains / threads));
  RunOnTeam(threads, chunks, [&](int thread, int share, int chunk) {
    const int64_t first = PartBegin(grains, threads, share);
    const int64_t size = PartBegin(grains, threads, share + 1) - first;
    const int64_t from = first + PartBegin(size, chunks, chunk);
    const int64_t to = first + PartBegin(size, chunks, chunk + 1);
    body(thread, from * grain, to == grains ? count : to * grain);
  });
}

void ParallelFor(int64_t begin, int64_t end, int64_t grain,
                 absl::FunctionRef<void(int64_t, int64_t)> body) {
  ParallelForWithScratch(end - begin, grain, NumThreads(), [&](int, int64_t first, int64_t last) {
    body(begin + first, begin + last);
  });
}

void ParallelThreads(int parts, absl::FunctionRef<void(int)> body) {
  parts = std::min(parts, NumThreads());
  if (parts <= 1) {
    body(0);
    return;
  }
  RunOnTeam(parts, 1, [&](int, int part, int) { body(part); });
}

}  // namespace dtnn
