// The one owner of threads: everything that runs on several cores does so through ParallelFor (or
// hands the same threads to BLIS).
//
// The threads are OpenMP's; OMP_NUM_THREADS is respected. Calls do not nest: inside a body that
// runs beside others NumThreads() is 1 and a further ParallelFor runs serially, so no library can
// oversubscribe the machine. (A range too short to share runs on the calling thread alone; its body
// may use the threads for loops of its own.) Each program thread that calls it (a rank of an
// in-process communicator) has a setting of its own.

#ifndef DTNN_TENSOR_PARALLEL_FOR_H_
#define DTNN_TENSOR_PARALLEL_FOR_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace dtnn {

// Threads that the next ParallelFor of this thread may use; at least 1.
int NumThreads();
// Sets it for the calling thread.
void SetNumThreads(int threads);

// Splits [begin, end) into at most NumThreads() contiguous ranges, each a multiple of `grain` but
// for the last, and calls body(range_begin, range_end) on each, one per thread; returns when all
// are done. A range shorter than two grains runs on the calling thread. The split depends on the
// number of threads: a body whose result must not may write only to places named by the index.
void ParallelFor(int64_t begin, int64_t end, int64_t grain,
                 absl::FunctionRef<void(int64_t, int64_t)> body);

// Calls body(thread) once for each thread = 0 .. min(threads, NumThreads()) - 1, each on a thread
// of its own where OpenMP grants as many. For kernels that divide their work themselves and keep
// scratch memory per thread: they ask NumThreads() first, and no body may wait for another.
void ParallelThreads(int threads, absl::FunctionRef<void(int)> body);

}  // namespace dtnn

#endif  // DTNN_TENSOR_PARALLEL_FOR_H_
