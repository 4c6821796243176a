#include "comm/transport/tcp/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/descriptors/system_error.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Connections that have not been accepted yet.
constexpr int kBacklog = 1024;

absl::StatusOr<Socket> Open(int family) {
  const int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return SystemError("cannot open a socket", errno);
  return Socket(descriptor);
}

const sockaddr* Generic(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.bytes);
}

template <typename T>
SocketAddress AddressOf(const T& of_family) {
  SocketAddress address = {.size = sizeof(of_family)};
  std::memcpy(&address.bytes, &of_family, sizeof(of_family));
  return address;
}

// Also one of a link ("fe80::1%eth0").
bool IsAddress(const std::string& host) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* list = nullptr;
  if (host.empty() || getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return false;
  freeaddrinfo(list);
  return true;
}

// First IPv6, which takes IPv4's connections too, then IPv4, for hosts without IPv6.
std::vector<SocketAddress> AllAddresses(uint16_t port) {
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return {AddressOf(six), AddressOf(four)};
}

absl::StatusOr<Socket> ListenAt(const SocketAddress& address, std::string_view what) {
  DTNN_ASSIGN_OR_RETURN(Socket socket, Open(address.bytes.ss_family));
  const int on = 1, off = 0;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.bytes.ss_family == AF_INET6) {
    setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(socket.descriptor(), Generic(address), address.size) != 0 ||
      listen(socket.descriptor(), kBacklog) != 0) {
    return SystemError(what, errno);
  }
  return socket;
}

// What every connection gets.
void SetOptions(const Socket& socket) {
  const auto set = [&](int level, int name, int value) {
    setsockopt(socket.descriptor(), level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);  // small messages are not kept back for larger ones
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAlivePauseSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

absl::StatusOr<Endpoint> EndOf(int descriptor, NameOf name_of) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (name_of(descriptor, generic, &size) != 0) return SystemError("a socket's address", errno);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  const int code = getnameinfo(generic, size, host, sizeof(host), port, sizeof(port),
                               NI_NUMERICHOST | NI_NUMERICSERV);
  if (code != 0) return Unavailable("a socket's address: ", gai_strerror(code));
  // An address of IPv4 on a socket of IPv6.
  constexpr std::string_view kMapped = "::ffff:";
  std::string_view shown = host;
  if (shown.starts_with(kMapped) && shown.find('.') != shown.npos) {
    shown.remove_prefix(kMapped.size());
  }
  return Endpoint{.host = std::string(shown), .port = uint16_t(std::stoi(port))};
}

}  // namespace

std::string Endpoint::ToString() const {
  const bool brackets = host.find(':') != host.npos;
  return StrCat(brackets ? "[" : "", host, brackets ? "]" : "", ":", port);
}

absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  const std::string_view port = colon == text.npos ? "" : text.substr(colon + 1);
  const bool brackets = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = error == std::errc() && end == port.data() + port.size();
  // Without brackets nobody knows where an IPv6 address ends.
  const bool good = brackets || host.find_first_of(":[]") == host.npos;
  if (host.empty() || !good || !whole || number == 0) {
    return InvalidArgument(Quoted(text),
                           ": expected HOST:PORT, such as node1:61642, 10.0.0.7:61642 or "
                           "[::1]:61642, with a port from 1 to 65535");
  }
  return Endpoint{.host = std::string(host), .port = number};
}

void Socket::KeepBuffersShort() const {
  constexpr int kBytes = 128 << 10;  // Linux takes twice that, with what it needs itself
  for (const int buffer : {SO_RCVBUF, SO_SNDBUF}) {
    setsockopt(descriptor(), SOL_SOCKET, buffer, &kBytes, sizeof(kBytes));
  }
}

void Socket::KeepUnsentShort() const {
  constexpr int kBytes = 128 << 10;
  setsockopt(descriptor(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kBytes, sizeof(kBytes));
}

absl::StatusOr<Endpoint> Socket::Local() const { return EndOf(descriptor(), getsockname); }
absl::StatusOr<Endpoint> Socket::Peer() const { return EndOf(descriptor(), getpeername); }

bool IsLoopback(std::string_view host) {
  const std::string text(host);
  in_addr four;
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six;
  if (inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
  }
  return host == "localhost";
}

absl::StatusOr<std::vector<SocketAddress>> Resolve(const Endpoint& endpoint) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  errno = 0;
  const int code = getaddrinfo(endpoint.host.empty() ? nullptr : endpoint.host.c_str(),
                               std::to_string(endpoint.port).c_str(), &hints, &list);
  if (code != 0) {
    // The resolver calls a host unknown where it could not open the file of hosts.
    if (errno == EMFILE || errno == ENFILE || code == EAI_MEMORY) {
      return SystemError(StrCat("cannot look up host ", Quoted(endpoint.host)),
                         code == EAI_MEMORY ? ENOMEM : errno);
    }
    return Unavailable("host ", Quoted(endpoint.host), " is not known here: ", gai_strerror(code));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    address.size = at->ai_addrlen;
    std::memcpy(&address.bytes, at->ai_addr, at->ai_addrlen);
  }
  freeaddrinfo(list);
  return addresses;
}

absl::StatusOr<Socket> Listen(const Endpoint& endpoint) {
  const std::string& host = endpoint.host;
  std::vector<SocketAddress> addresses = AllAddresses(endpoint.port);
  if (IsAddress(host) || IsLoopback(host)) {
    DTNN_ASSIGN_OR_RETURN(addresses, Resolve(endpoint));
  }
  absl::Status error;
  for (const SocketAddress& address : addresses) {
    absl::StatusOr<Socket> socket =
        ListenAt(address, StrCat("cannot listen at ", endpoint.ToString()));
    if (socket.ok()) return socket;
    error = socket.status();
  }
  return error;
}

absl::StatusOr<Socket> AdoptListener(int descriptor) {
  int listens = 0;
  socklen_t size = sizeof(listens);
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
    return InvalidArgument("file descriptor ", descriptor, " is not a socket that listens");
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  return Socket(descriptor);
}

absl::StatusOr<std::optional<Socket>> Accept(const Socket& listener) {
  const int descriptor =
      accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor >= 0) {
    Socket socket(descriptor);
    SetOptions(socket);
    return socket;
  }
  // Other errors are of the connection that would have come, which is gone.
  const absl::Status error = SystemError("cannot accept a connection", errno);
  if (absl::IsResourceExhausted(error)) return error;
  return std::nullopt;
}

absl::StatusOr<Socket> StartConnecting(const SocketAddress& address) {
  DTNN_ASSIGN_OR_RETURN(Socket socket, Open(address.bytes.ss_family));
  SetOptions(socket);
  if (connect(socket.descriptor(), Generic(address), address.size) == 0 || errno == EINPROGRESS) {
    return socket;
  }
  return SystemError("cannot connect", errno);
}

absl::Status ConnectingError(const Socket& socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? absl::OkStatus() : SystemError("cannot connect", error);
}

}  // namespace dtnn
