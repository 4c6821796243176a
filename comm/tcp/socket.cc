#include "comm/tcp/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

// Connections that have not been accepted yet.
constexpr int kBacklog = 1024;

absl::Status SystemError(std::string_view what, int error) {
  return Unavailable(what, ": ", strerror(error));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<Addresses> Resolve(const Endpoint& endpoint, bool to_listen) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const int code =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &list);
  if (code != 0) {
    return Unavailable("host ", Quoted(endpoint.host), " is not known here: ", gai_strerror(code));
  }
  return Addresses(list, &freeaddrinfo);
}

Socket Open(const addrinfo& address) {
  return Socket(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Small messages are not kept back for larger ones.
void SendAtOnce(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
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
  return Endpoint{.host = host, .port = uint16_t(std::stoi(port))};
}

}  // namespace

std::string Endpoint::ToString() const {
  const bool brackets = host.find(':') != host.npos;
  return StrCat(brackets ? "[" : "", host, brackets ? "]" : "", ":", port);
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<Endpoint> Socket::Local() const { return EndOf(descriptor_, getsockname); }
absl::StatusOr<Endpoint> Socket::Peer() const { return EndOf(descriptor_, getpeername); }

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

absl::StatusOr<Socket> Listen(const Endpoint& endpoint) {
  DTNN_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(endpoint, /*to_listen=*/true));
  int error = 0;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Socket socket = Open(*address);
    const int on = 1;
    setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(socket.descriptor(), address->ai_addr, address->ai_addrlen) == 0 &&
        listen(socket.descriptor(), kBacklog) == 0) {
      return socket;
    }
    error = errno;
  }
  return SystemError(StrCat("cannot listen at ", endpoint.ToString()), error);
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

std::optional<Socket> Accept(const Socket& listener) {
  const int descriptor =
      accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  Socket socket(descriptor);
  SendAtOnce(socket);
  return socket;
}

absl::StatusOr<Socket> StartConnecting(const Endpoint& endpoint) {
  DTNN_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(endpoint, /*to_listen=*/false));
  int error = 0;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Socket socket = Open(*address);
    SendAtOnce(socket);
    if (connect(socket.descriptor(), address->ai_addr, address->ai_addrlen) == 0 ||
        errno == EINPROGRESS) {
      return socket;
    }
    error = errno;
  }
  return SystemError(StrCat("cannot connect to ", endpoint.ToString()), error);
}

absl::Status ConnectingError(const Socket& socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? absl::OkStatus() : SystemError("cannot connect", error);
}

}  // namespace dtnn
