// Rank 0's server, through which all ranks reach each other. Rank 0 itself uses it without a
// connection.
//
// A caller has to prove that it knows the job's secret before anything of it is passed on. A
// connection on which no caller has proved it yet gets ten seconds and one of 128 places, whether
// there is a call on it or not (comm/transport/meeting/waiting_room.h). When a rank's call ends,
// for whatever reason, all others are notified.

#ifndef DTNN_COMM_TRANSPORT_GRPC_SWITCHBOARD_H_
#define DTNN_COMM_TRANSPORT_GRPC_SWITCHBOARD_H_

#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "comm/descriptors/wakeup.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/grpc/switchboard.grpc.pb.h"
#include "comm/transport/meeting/waiting_room.h"
#include "comm/transport/relay/datagrams.h"
#include "comm/transport/tcp/socket.h"

namespace dtnn {

struct SwitchboardOptions {
  int size = 1;                   // ranks
  bool only_with_rank_0 = false;  // others do not reach each other
};

class Switchboard {
 public:
  // For rank 0.
  Switchboard(Socket listener, const JobSecret& secret, const Instance& me,
              const SwitchboardOptions& options, Datagrams::Handlers handlers);
  // Waits half a second at most until the calls of all others have ended.
  ~Switchboard();
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;

  // Once. From within it on, other threads call the handlers, which may Send.
  absl::Status Listen(std::shared_ptr<grpc::ServerCredentials> credentials);

  // From rank 0.
  void Send(int to, std::string packet);
  bool Flush(std::chrono::steady_clock::time_point until);

 private:
  class Line;
  class Service;
  // What a line's end is for others.
  struct Place {
    std::shared_ptr<Line> line;
    Instance instance;
  };

  // gRPC has the socket; shutting down this copy of it ends the connection all the same.
  struct Connection {
    Socket copy;
    std::string caller;  // the address that it comes from
  };

  void AcceptAll();
  void AcceptOne();
  // All connections, for poll to report when they are over, and when one of them will be late.
  std::chrono::steady_clock::time_point AddTo(std::vector<pollfd>& descriptors);
  // Those that are over, or late. `polled`: as AddTo has added them.
  void CloseSome(std::span<const pollfd> polled);
  absl::Status Join(const std::shared_ptr<Line>& line, const Instance& who);
  void Hear(int to, std::string packet);  // from another rank
  void Lose(const std::shared_ptr<Line>& line);
  std::shared_ptr<Line> LineOf(int rank);

  const Socket listener_;
  const JobSecret secret_;
  const Instance me_;
  const SwitchboardOptions options_;
  const Datagrams::Handlers handlers_;
  std::mutex mutex_;
  std::map<int, Place> ranks_;
  std::condition_variable changed_;  // one of them is gone
  // Only the thread removes any of them.
  WaitingRoom<Connection> unproved_;
  std::list<Connection> proved_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  const Wakeup stop_;
  std::thread thread_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_GRPC_SWITCHBOARD_H_
