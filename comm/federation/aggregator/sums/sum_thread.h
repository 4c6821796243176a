// A thread that adds updates and makes means, while another one talks to clients: it does what it
// is given, one after another, in that order, on as many threads as the one that has made it
// (tensor/threads/parallel_for.h).

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_SUM_THREAD_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_SUM_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace dtnn::federation {

class SumThread {
 public:
  // `done`: called there after each piece of work.
  explicit SumThread(std::function<void()> done);
  // Does first what it was given.
  ~SumThread();

  void Do(std::function<void()> work);
  // Until all of it is done.
  void Await();

 private:
  void Run(int threads);

  const std::function<void()> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  // the first one is being done
  bool ends_ = false;
  std::jthread thread_;  // uses the others
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_SUM_THREAD_H_
