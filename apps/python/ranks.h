// The ranks of which this process is one, while dtnn.run_as_rank calls a function.

#ifndef DTNN_APPS_PYTHON_RANKS_H_
#define DTNN_APPS_PYTHON_RANKS_H_

#include "comm/communicator.h"

namespace dtnn::python {

// Null outside of that function. The GIL guards it.
Communicator* CurrentRanks();

// A run that uses them. It ends before they do: DropRun() is called then at the latest.
class UsesRanks {
 public:
  UsesRanks();
  UsesRanks(const UsesRanks&) = delete;
  UsesRanks& operator=(const UsesRanks&) = delete;
  virtual void DropRun() = 0;

 protected:
  ~UsesRanks();
};

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_RANKS_H_
