#include "comm/ranks/mpi/control/control_socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "comm/descriptors/system_error.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// For many ranks that leave at once; the kernel may grant less.
constexpr int kReceiveBuffer = 4 << 20;

std::array<uint32_t, 8> HostAddresses() {
  std::array<uint32_t, 8> hosts = {};
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return hosts;
  size_t count = 0;
  for (const ifaddrs* entry = list; entry != nullptr && count < hosts.size();
       entry = entry->ifa_next) {
    const bool usable = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    hosts[count++] = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr.s_addr;
  }
  freeifaddrs(list);
  return hosts;
}

}  // namespace

uint32_t LoopbackHost() { return htonl(INADDR_LOOPBACK); }

absl::Status CheckAddresses(std::span<const ControlAddress> ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].port == 0) {
      return Unavailable("rank ", rank, " has no socket for the others");
    }
    if (ranks[rank].hosts[0] == 0) {
      return Unavailable("the host of rank ", rank,
                         " has no IPv4 address that ranks on other hosts can reach, ",
                         "only loopback; give one of its network interfaces an IPv4 address");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ControlSocket> ControlSocket::Open(bool loopback_only) {
  ControlSocket made(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.descriptor_ < 0) return SystemError("the ranks' socket", errno);
  DTNN_RETURN_IF_ERROR(made.wakeup_.status());
  setsockopt(made.descriptor_, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof(kReceiveBuffer));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = loopback_only ? LoopbackHost() : htonl(INADDR_ANY);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(made.descriptor_, generic, size) != 0)
    return SystemError("the ranks' socket: bind", errno);
  if (getsockname(made.descriptor_, generic, &size) != 0)
    return SystemError("the ranks' socket: getsockname", errno);
  made.address_ = {.hosts = HostAddresses(), .port = address.sin_port};
  if (loopback_only) made.address_.hosts = {LoopbackHost()};
  return made;
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      wakeup_(std::move(other.wakeup_)),
      address_(other.address_) {}

ControlSocket::~ControlSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace dtnn
