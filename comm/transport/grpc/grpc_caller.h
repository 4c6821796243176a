// The call of a rank to rank 0's server (switchboard.h).

#ifndef DTNN_COMM_TRANSPORT_GRPC_GRPC_CALLER_H_
#define DTNN_COMM_TRANSPORT_GRPC_GRPC_CALLER_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/grpc/envelope_queue.h"
#include "comm/transport/grpc/switchboard.grpc.pb.h"
#include "comm/transport/relay/datagrams.h"

namespace dtnn {

class GrpcCaller : public grpc::ClientBidiReactor<proto::Envelope, proto::Envelope> {
 public:
  // `server`: for messages, "rank 0 at 10.0.0.1:61642"; `peers`: how many ranks this one sends to.
  // The handlers are called until the destructor returns, but only after Join.
  GrpcCaller(std::shared_ptr<grpc::Channel> channel, std::string server, const JobSecret& secret,
             const Instance& me, int peers, Datagrams::Handlers handlers);
  // Ends the call, and waits for gRPC to let go of it.
  ~GrpcCaller() override;

  void Begin();
  // Whether it has joined, or why not; nothing while that is open.
  std::optional<absl::Status> AwaitJoined(std::chrono::steady_clock::time_point until);

  void Send(int to, std::string packet);
  bool Flush(std::chrono::steady_clock::time_point until) { return queue_.AwaitEmpty(until); }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override { queue_.Written(ok); }
  void OnDone(const grpc::Status& status) override;
  absl::Status Hear();

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string server_;
  const JobSecret secret_;
  const Instance me_;
  const Datagrams::Handlers handlers_;
  const std::unique_ptr<proto::Switchboard::Stub> stub_;
  grpc::ClientContext context_;
  proto::Envelope in_;
  EnvelopeQueue queue_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Instance server_instance_;
  bool begun_ = false, joined_ = false, done_ = false;
  absl::Status status_;  // when done; before, what was wrong with a message of the server
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_GRPC_GRPC_CALLER_H_
