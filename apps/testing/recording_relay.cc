#include "apps/testing/recording_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "tensor/must.h"

namespace dtnn::testing {
namespace {

// What one end has sent, to the other.
struct Direction {
  int from = -1, to = -1;
  std::string bytes = {};
  bool over = false;

  // Blocks while the other end takes nothing, which ends with it.
  void Forward() {
    std::array<char, 1 << 16> buffer;
    const ssize_t n = recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    over = n <= 0;
    if (over) shutdown(to, SHUT_WR);
    for (ssize_t at = 0; at < n && !over;) {
      const ssize_t sent = send(to, buffer.data() + at, size_t(n - at), MSG_NOSIGNAL);
      over = sent < 0;
      at += sent;
    }
    if (n > 0) bytes.append(buffer.data(), size_t(n));
  }
};

void Block(const Socket& socket) {
  fcntl(socket.descriptor(), F_SETFL, fcntl(socket.descriptor(), F_GETFL) & ~O_NONBLOCK);
}

}  // namespace

struct RecordingRelay::Connection {
  Connection(Socket a, Socket b) : client(std::move(a)), server(std::move(b)) {
    Block(client);
    Block(server);
  }

  Socket client, server;
  Direction up = {client.descriptor(), server.descriptor()},
            down = {server.descriptor(), client.descriptor()};
};

RecordingRelay::RecordingRelay(const std::string& server)
    : server_(Must(ParseEndpoint(server))),
      listener_(Must(Listen({.host = "127.0.0.1", .port = 0}))),
      address_(Must(listener_.Local()).ToString()),
      thread_([this] { Run(); }) {}

RecordingRelay::~RecordingRelay() { Stop(); }

void RecordingRelay::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::string RecordingRelay::ToServer() {
  Stop();
  std::string all;
  for (const auto& connection : connections_) all += connection->up.bytes;
  return all;
}

std::string RecordingRelay::ToClients() {
  Stop();
  std::string all;
  for (const auto& connection : connections_) all += connection->down.bytes;
  return all;
}

void RecordingRelay::Run() {
  constexpr int kLookMs = 20;  // whether to stop
  while (!stop_) {
    std::vector<pollfd> descriptors = {{listener_.descriptor(), POLLIN, 0}};
    std::vector<Direction*> directions;
    for (const auto& connection : connections_) {
      for (Direction* direction : {&connection->up, &connection->down}) {
        if (direction->over) continue;
        descriptors.push_back({direction->from, POLLIN, 0});
        directions.push_back(direction);
      }
    }
    poll(descriptors.data(), descriptors.size(), kLookMs);
    for (size_t i = 0; i < directions.size(); ++i) {
      if (descriptors[i + 1].revents != 0) directions[i]->Forward();
    }
    std::optional<Socket> client = Must(Accept(listener_));
    if (!client) continue;
    Socket server = Must(StartConnecting(Must(Resolve(server_))[0]));
    pollfd ready = {server.descriptor(), POLLOUT, 0};
    poll(&ready, 1, 1000);
    if (!ConnectingError(server).ok()) continue;
    connections_.push_back(std::make_unique<Connection>(*std::move(client), std::move(server)));
  }
}

}  // namespace dtnn::testing
