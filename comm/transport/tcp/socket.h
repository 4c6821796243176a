// TCP sockets that never block, and the addresses that people write for them. Only Resolve blocks.
//
// Errors: ResourceExhausted where this process or host has no more files or memory, so that trying
// again is of no use; Unavailable otherwise.

#ifndef DTNN_COMM_TRANSPORT_TCP_SOCKET_H_
#define DTNN_COMM_TRANSPORT_TCP_SOCKET_H_

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/descriptors/descriptor.h"

namespace dtnn {

struct Endpoint {
  std::string host;   // a name, or an IPv4 or IPv6 address; empty: this host
  uint16_t port = 0;  // 0, to listen: one that the system chooses

  // "node1:61642", "[::1]:61642".
  std::string ToString() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "node1:61642", "[::1]:61642". InvalidArgument for anything else, also for no host.
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text);

// A connection on which nothing comes for so long is probed so often, so far apart, and fails then:
// also one whose other host has lost its power, after two minutes.
inline constexpr int kKeepAliveIdleSeconds = 60;
inline constexpr int kKeepAlivePauseSeconds = 10;
inline constexpr int kKeepAliveProbes = 6;

class Socket : public Descriptor {
 public:
  using Descriptor::Descriptor;

  // Its buffers of what is sent and received do not grow beyond a quarter of a megabyte each.
  void KeepBuffersShort() const;
  // Bytes that were written and are not on their way yet are an eighth of a megabyte, with at most
  // one segment more.
  void KeepUnsentShort() const;
  // The connection's two ends, as addresses in numbers; for one that listens: the first.
  absl::StatusOr<Endpoint> Local() const;
  absl::StatusOr<Endpoint> Peer() const;
};

// Whether only processes of this host reach it: an address of 127.0.0.0/8, ::1, or "localhost".
// Other names are not resolved: they may be anybody's.
bool IsLoopback(std::string_view host);

// At that address. At all addresses of this host where `host` is a name other than "localhost", or
// empty: what a host calls itself may mean 127.0.1.1 to it, and something else to others.
absl::StatusOr<Socket> Listen(const Endpoint& endpoint);
// A socket that another process opened for this one; it must listen.
absl::StatusOr<Socket> AdoptListener(int descriptor);
// A connection that waits to be accepted, or nothing.
absl::StatusOr<std::optional<Socket>> Accept(const Socket& listener);

// What connect() takes.
struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t size = 0;
};

// All addresses of a host, in the order in which to try them; at least one. Asks the system's
// resolver, and blocks as long as that does: for seconds where a name server does not answer.
absl::StatusOr<std::vector<SocketAddress>> Resolve(const Endpoint& endpoint);

// A connection on its way: writable once it is there, or has failed.
absl::StatusOr<Socket> StartConnecting(const SocketAddress& address);
// OK when it is there.
absl::Status ConnectingError(const Socket& socket);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_SOCKET_H_
