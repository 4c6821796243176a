// This process as a rank of a job whose ranks are connected by TCP: joining the others, leaving
// them, and communicators over all ranks.
//
// Communicators: everything communicator.h says, and
//  - a timeout counts the whole wait, the transfer included;
//  - calls are checked only where the options ask for it;
//  - a sum's order is that of schedule.h, wherever ranks are and however a tensor is cut;
//  - a rank whose process ends is missed at once, one that is frozen after the timeout;
//  - after an error the connections may still write to the tensors of calls that were on their way,
//    until this process object is destroyed. They hold that memory as long: dropping such a tensor
//    is safe, filling it again is not.

#ifndef DTNN_COMM_TCP_TCP_PROCESS_H_
#define DTNN_COMM_TCP_TCP_PROCESS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/tcp/job_secret.h"
#include "comm/tcp/rendezvous.h"
#include "comm/tcp/tcp_options.h"

namespace dtnn {

class TcpEngine;

class TcpProcess {
 public:
  // The options' timeout, warning and interruption hold for start and end. Errors: rendezvous.h.
  static absl::StatusOr<std::unique_ptr<TcpProcess>> Start(const CommunicatorOptions& options,
                                                           const RendezvousOptions& rendezvous,
                                                           const JobSecret& secret);
  // Closes the connections; ranks that still need this one miss it.
  ~TcpProcess();

  int rank() const;
  int size() const;

  // All ranks call it together, with the same TcpOptions and check_calls. Must not outlive the
  // process object. DeadlineExceeded where the others do not come.
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(const CommunicatorOptions& options = {},
                                                        const TcpOptions& tcp = {});

  // False once a communicator broke.
  bool finalizable() const;
  // Waits for all ranks, unless it is not finalizable. No call may follow.
  absl::Status Finish();
  // Closes the connections, when messages on their way have had a moment. No call may follow.
  void Flush();

 private:
  explicit TcpProcess(const CommunicatorOptions& options);

  const CommunicatorOptions options_;
  std::unique_ptr<TcpEngine> engine_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_TCP_PROCESS_H_
