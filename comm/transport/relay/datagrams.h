// Small messages between the ranks of a job through a third party that all of them reach: a server
// of rank 0 (comm/transport/grpc), a broker (comm/transport/mqtt). What is sent there need be
// neither secret nor genuine: relay_link.h seals it.

#ifndef DTNN_COMM_TRANSPORT_RELAY_DATAGRAMS_H_
#define DTNN_COMM_TRANSPORT_RELAY_DATAGRAMS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"

namespace dtnn {

// One process: a rank, and a number that no other process of that rank has.
struct Instance {
  int rank = 0;
  uint64_t number = 0;
  friend bool operator==(const Instance&, const Instance&) = default;
};

class Datagrams {
 public:
  // The limit for one.
  static constexpr size_t kMostBytes = (256 << 10) + 1024;

  // Called by threads of the transport, perhaps several at once, but in order for what comes from
  // one process; from within Open on. Must not wait, nor destroy it.
  struct Handlers {
    std::function<void(std::string_view bytes)> received;   // from any process
    std::function<void(const Instance& who)> left;          // a process has ended
    std::function<void(const absl::Status& why)> cut = {};  // from the third party; the last call
  };

  // Leaves the third party.
  virtual ~Datagrams() = default;

  // For the instance that opens these: before that, and once. A random one where the third party
  // does not need to know where it comes from.
  virtual absl::StatusOr<uint64_t> DrawNumber();

  // Once, before anything else: reaches the third party, waiting as the options say.
  // DeadlineExceeded or Unavailable where it does not answer; InvalidArgument, PermissionDenied
  // where it refuses.
  virtual absl::Status Open(const Instance& me, Handlers handlers,
                            const CommunicatorOptions& patience) = 0;

  // From any thread; never waits. In order between two ranks. To a rank that is not there, or that
  // the third party has no more room for, it may be lost.
  virtual void Send(int to, std::string bytes) = 0;
  // Whether what was sent is with the third party, or never will be; waits for it until that time.
  virtual bool Flush(std::chrono::steady_clock::time_point until) = 0;

  // For messages: "gRPC at 10.0.0.1:61642".
  virtual std::string name() const = 0;
  // What one rank may send another before that has read of it, counted as in relay_link.h.
  virtual size_t window() const = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_DATAGRAMS_H_
