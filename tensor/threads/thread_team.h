// A thread and the workers that help it: the machinery below ParallelFor.
//
// A job is cut into shares, one per thread, and each share into chunks. A thread takes the chunks
// of its own share first, one after the other, so that successive jobs over the same memory find it
// in the same cache; then those that others have not begun. The caller takes part, and waits only
// for chunks that a worker has begun: where a worker gets no processor, because other programs use
// the machine, the others do its work.
//
// A thread that waits spins for some microseconds, since on an idle machine the next job (or the
// end of this one) is near and waking takes longer, and then sleeps, since on a busy one it would
// keep the processor from the thread it waits for.

#ifndef DTNN_TENSOR_THREADS_THREAD_TEAM_H_
#define DTNN_TENSOR_THREADS_THREAD_TEAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "tensor/threads/waitable_word.h"

namespace dtnn {

// Belongs to one thread, which makes it, calls it and ends it.
class ThreadTeam {
 public:
  ThreadTeam() = default;
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Calls body(thread, share, chunk) once for each share = 0 .. threads - 1 and chunk = 0 ..
  // chunks - 1, and returns when all are done. `thread` says who runs it, 0 .. threads - 1; calls
  // with the same number never overlap. Starts the workers that are missing; continues with fewer
  // where the system refuses them. A body must not wait for another, nor throw.
  void Run(int threads, int chunks, absl::FunctionRef<void(int, int, int)> body);

 private:
  // On a cache line of its own, for all threads write it.
  struct alignas(64) Share {
    std::atomic<int> next{0};  // the first chunk that nobody has taken
  };
  struct Job {
    int threads = 0, chunks = 0;
    const absl::FunctionRef<void(int, int, int)>* body = nullptr;
  };

  void StartWorkers(int workers);
  void RunWorker(int thread);
  // Whether the job is open and has a place for this thread; if so the job does not end before
  // Leave().
  bool Enter(int thread);
  void Leave();
  void TakeChunks(int thread);

  std::vector<std::thread> workers_;
  bool refused_ = false;  // the system had no more threads: those that run share the chunks
  std::unique_ptr<Share[]> shares_;
  int capacity_ = 0;  // shares
  Job job_;           // written while nobody is inside
  // Announces a job. Changes once more when the team ends.
  alignas(64) WaitableWord jobs_;
  std::atomic<bool> over_{false};
  // kOpen while workers may join, plus the number of those inside.
  alignas(64) WaitableWord gate_;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_THREADS_THREAD_TEAM_H_
