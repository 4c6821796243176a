// The ranks of which this process is one, while dtnn.run_as_rank calls a function.

#ifndef DTNN_APPS_PYTHON_RANKS_H_
#define DTNN_APPS_PYTHON_RANKS_H_

#include "comm/communicator.h"

namespace dtnn::python {

// Loops of the calling thread have so many threads, as long as it lives; 0: as many as before.
class ShareOfThreads {
 public:
  explicit ShareOfThreads(int threads);
  ~ShareOfThreads();
  ShareOfThreads(const ShareOfThreads&) = delete;
  ShareOfThreads& operator=(const ShareOfThreads&) = delete;

 private:
  const int before_;
};

// A run that was made meanwhile, and may use them. It ends before they do. The GIL guards all of
// it.
class UsesRanks {
 public:
  UsesRanks();
  UsesRanks(const UsesRanks&) = delete;
  UsesRanks& operator=(const UsesRanks&) = delete;

  // Whether a thread makes it, computes with it or deletes it.
  bool busy() const { return busy_; }
  // What it computes ends soon, with an error.
  virtual void StopRun() = 0;
  // For one that is not busy.
  virtual void DropRun() = 0;

 protected:
  ~UsesRanks();
  Communicator* ranks() const { return ranks_; }  // null outside of that function
  // Its share of the processors, for whichever thread computes with it; 0 outside of that function.
  int threads() const { return threads_; }

  bool busy_ = true;  // until it is made

 private:
  Communicator* const ranks_;
  const int threads_;
};

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_RANKS_H_
