// The one owner of threads that compute: everything that runs on several cores does so through
// these loops.
//
// Each program thread that calls them (a rank of an in-process communicator, say) has a team of its
// own and a number of threads of its own. Calls do not nest: inside a body that runs beside others
// NumThreads() is 1 and a further loop runs serially, so no library can oversubscribe the machine.
// (A loop too short to share runs on the calling thread alone; its body may use the threads for
// loops of its own.)
//
// Work is divided into a few chunks per thread, and a thread that is done takes chunks of others:
// on a machine that other programs use too, nobody waits for a thread that has no processor. Which
// thread runs a chunk, and how many chunks there are, is thus not determined: a body whose result
// must be may write only to places named by the index.

#ifndef DTNN_TENSOR_THREADS_PARALLEL_FOR_H_
#define DTNN_TENSOR_THREADS_PARALLEL_FOR_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace dtnn {

// Threads that the next loop of this thread may use; at least 1. Unless set: DefaultThreads of the
// environment variable OMP_NUM_THREADS, which other numerical programs follow too, and of the
// processors that the process may run on.
int NumThreads();
// Sets it for the calling thread.
void SetNumThreads(int threads);

// The first number in `omp_num_threads`; `processors` where that is null or no positive number.
int DefaultThreads(const char* omp_num_threads, int processors);

// Splits [begin, end) into contiguous ranges, each a multiple of `grain` but for the last, calls
// body(range_begin, range_end) on each, and returns when all are done. A range shorter than two
// grains runs on the calling thread.
void ParallelFor(int64_t begin, int64_t end, int64_t grain,
                 absl::FunctionRef<void(int64_t, int64_t)> body);

// The same for [0, count) on at most `threads` threads, for bodies with scratch memory per thread:
// body(thread, range_begin, range_end), where calls with the same thread = 0 .. threads - 1 do not
// overlap.
void ParallelForWithScratch(int64_t count, int64_t grain, int threads,
                            absl::FunctionRef<void(int, int64_t, int64_t)> body);

// Calls body(part) once for each part = 0 .. min(parts, NumThreads()) - 1, each on a thread of its
// own where the machine has one to spare. No body may wait for another.
void ParallelThreads(int parts, absl::FunctionRef<void(int)> body);

}  // namespace dtnn

#endif  // DTNN_TENSOR_THREADS_PARALLEL_FOR_H_
