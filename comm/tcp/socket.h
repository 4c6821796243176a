// TCP sockets that never block, and the addresses that people write for them.

#ifndef DTNN_COMM_TCP_SOCKET_H_
#define DTNN_COMM_TCP_SOCKET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

struct Endpoint {
  std::string host;   // a name, or an IPv4 or IPv6 address
  uint16_t port = 0;  // 0, to listen: one that the system chooses

  // "node1:61642", "[::1]:61642".
  std::string ToString() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Of a file descriptor, which it closes.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const { return descriptor_; }
  // Leaves it open, and to the caller.
  int Release() { return std::exchange(descriptor_, -1); }
  // Of the connection's two ends, as addresses in numbers; of one that listens: the first.
  absl::StatusOr<Endpoint> Local() const;
  absl::StatusOr<Endpoint> Peer() const;

 private:
  int descriptor_;
};

// Whether only processes of this host reach it.
bool IsLoopback(std::string_view host);

absl::StatusOr<Socket> Listen(const Endpoint& endpoint);
// Of a socket that another process opened for this one; it must listen.
absl::StatusOr<Socket> AdoptListener(int descriptor);
// A connection that waits to be accepted, or nothing.
std::optional<Socket> Accept(const Socket& listener);

// A connection on its way: writable once it is there, or has failed.
absl::StatusOr<Socket> StartConnecting(const Endpoint& endpoint);
// OK when it is there.
absl::Status ConnectingError(const Socket& socket);

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_SOCKET_H_
