// The one thread of a process that calls MPI.
//
// MPI calls may never return: Open MPI 4.1 over TCP, sending to a rank that has died, locks one of
// its own mutexes twice. Nothing gets a thread out of that without leaving locks held, so nobody
// tries: others hand this thread tasks, wait for their effects as long as they like, and leave it
// behind when it hangs. Such a process, whose memory is in order, saves what it has and ends by
// _exit, since MPI's own ways out would wait for the same locks.
//
// Between tasks the thread lets MPI move on, as often as it pays: hard on each other's heels for a
// moment while somebody waits, then with ever longer pauses, so that it takes little from threads
// that compute on the same core; not at all while nothing is on its way.

#ifndef DTNN_COMM_RANKS_MPI_MPI_THREAD_H_
#define DTNN_COMM_RANKS_MPI_MPI_THREAD_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace dtnn {

class MpiThread {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Progress { kNothing, kStill, kMoved };  // nothing: nothing is on its way
  using Task = std::function<void()>;

  MpiThread();
  // Leaves the thread behind if it has not ended (Stop).
  ~MpiThread();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  // Soon, after all that were posted before. What tasks refer to lives until Stop was true.
  void Post(Task task);
  // What is called between tasks, from the next one on.
  void set_progress(std::function<Progress()> progress);
  // More ranks than cores are on this host: others need the core that a wait takes.
  void set_crowded(bool crowded);

  // One more waits, or one less.
  void SetWaiting(bool waits);

  // Ends the thread after all tasks. False where it has not ended by then.
  bool Stop(Clock::time_point end);

 private:
  struct State;

  static void Run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // the thread's own too, however late it comes back
  std::thread thread_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_MPI_THREAD_H_
