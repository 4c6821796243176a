// This process as a rank of a job whose ranks are connected by streams: communicators over all
// ranks, and leaving them.
//
// Communicators: everything communicator.h says, and
//  - a timeout counts the whole wait, the transfer included;
//  - calls are checked only where the options ask for it;
//  - a sum's order is that of schedule.h, wherever ranks are and however a tensor is cut;
//  - a rank whose process ends is missed at once, one that is frozen after the timeout;
//  - after an error the connections may still write to the tensors of calls that were on their way,
//    until this process object is destroyed. They hold that memory as long: dropping such a tensor
//    is safe, filling it again is not.

#ifndef DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_PROCESS_H_
#define DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_PROCESS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/exchange/exchange_options.h"
#include "comm/transport/mesh.h"

namespace dtnn {

class ExchangeEngine;

class ExchangeProcess {
 public:
  // The options' timeout, warning and interruption hold for the end.
  ExchangeProcess(const CommunicatorOptions& options, Mesh mesh);
  // Closes the connections; ranks that still need this one miss it.
  ~ExchangeProcess();

  int rank() const;
  int size() const;

  // All ranks call it together, with the same ExchangeOptions and check_calls. Must not outlive the
  // process object. DeadlineExceeded where the others do not come.
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(const CommunicatorOptions& options = {},
                                                        const ExchangeOptions& own = {});

  // False once a communicator broke.
  bool finalizable() const;
  // Waits for all ranks, unless it is not finalizable. No call may follow.
  absl::Status Finish();
  // Closes the connections, when messages on their way have had a moment. No call may follow.
  void Flush();

 private:
  const CommunicatorOptions options_;
  std::unique_ptr<ExchangeEngine> engine_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_PROCESS_H_
