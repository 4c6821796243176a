// A datagram socket (UDP, IPv4) that the other ranks of a job can reach, where they reach it, and
// what wakes the thread that reads it.

#ifndef DTNN_COMM_RANKS_MPI_CONTROL_CONTROL_SOCKET_H_
#define DTNN_COMM_RANKS_MPI_CONTROL_CONTROL_SOCKET_H_

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/descriptors/wakeup.h"

namespace dtnn {

// Can be sent as it is.
struct ControlAddress {
  std::array<uint32_t, 8> hosts = {};  // the host's addresses as on the wire; 0: no more
  uint16_t port = 0;                   // as on the wire

  friend bool operator==(const ControlAddress&, const ControlAddress&) = default;
};

uint32_t LoopbackHost();

// Every rank has a socket, and addresses to reach it by.
absl::Status CheckAddresses(std::span<const ControlAddress> ranks);

class ControlSocket {
 public:
  // Bound to a free port of the loopback address, or of all addresses of the host.
  static absl::StatusOr<ControlSocket> Open(bool loopback_only);
  ControlSocket(ControlSocket&& other) noexcept;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket();

  int descriptor() const { return descriptor_; }
  const Wakeup& wakeup() const { return wakeup_; }
  // Where processes of other network spaces (`loopback_only`: of the same one) reach it.
  const ControlAddress& address() const { return address_; }

 private:
  explicit ControlSocket(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  Wakeup wakeup_;
  ControlAddress address_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_CONTROL_CONTROL_SOCKET_H_
