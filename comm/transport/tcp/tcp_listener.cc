#include "comm/transport/tcp/tcp_listener.h"

#include <optional>
#include <string>
#include <utility>

#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class OfSocket : public Listener {
 public:
  OfSocket(Socket socket, StreamMaker stream)
      : socket_(std::move(socket)), stream_(std::move(stream)) {}

  int descriptor() const override { return socket_.descriptor(); }

  absl::StatusOr<std::optional<Arrival>> Accept() override {
    while (true) {
      DTNN_ASSIGN_OR_RETURN(std::optional<Socket> socket, dtnn::Accept(socket_));
      if (!socket) return std::nullopt;
      const absl::StatusOr<Endpoint> from = socket->Peer();
      absl::StatusOr<std::unique_ptr<Stream>> stream = MakeStream(stream_, *std::move(socket), "");
      if (!from.ok() || !stream.ok()) continue;  // it is gone again
      return Arrival{.stream = *std::move(stream), .host = from->host, .address = from->ToString()};
    }
  }

 private:
  const Socket socket_;
  const StreamMaker stream_;
};

}  // namespace

std::unique_ptr<Listener> TcpListener(Socket socket, StreamMaker stream) {
  return std::make_unique<OfSocket>(std::move(socket), std::move(stream));
}

}  // namespace dtnn
