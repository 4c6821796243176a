#include "comm/transport/tcp/plain_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

// What one system call moves is as many ranges as this.
constexpr size_t kMostRanges = 8;

bool Later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

class Plain : public Stream {
 public:
  explicit Plain(Socket socket) : socket_(std::move(socket)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    const ssize_t n = recv(descriptor(), into.data(), into.size(), 0);
    if (n > 0) return size_t(n);
    // A process that is killed with bytes unread resets its connections.
    if (n == 0 || errno == ECONNRESET) return absl::OutOfRangeError("closed by the other side");
    if (Later(errno)) return size_t{0};
    return Unavailable(strerror(errno));
  }

  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    std::array<iovec, kMostRanges> ranges;
    const size_t count = std::min(from.size(), kMostRanges);
    for (size_t i = 0; i < count; ++i) {
      ranges[i] = {const_cast<std::byte*>(from[i].data()), from[i].size()};
    }
    msghdr message = {};
    message.msg_iov = ranges.data();
    message.msg_iovlen = count;
    const ssize_t n = sendmsg(descriptor(), &message, MSG_NOSIGNAL);
    if (n >= 0) return size_t(n);
    if (Later(errno)) return size_t{0};
    return Unavailable(strerror(errno));
  }

  void CloseWriting() override { shutdown(descriptor(), SHUT_WR); }
  void KeepBuffersShort() override { socket_.KeepBuffersShort(); }
  void KeepUnsentShort() override { socket_.KeepUnsentShort(); }
  int descriptor() const override { return socket_.descriptor(); }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return std::vector<uint8_t>(); }

 private:
  const Socket socket_;
};

}  // namespace

std::unique_ptr<Stream> PlainStream(Socket socket) {
  return std::make_unique<Plain>(std::move(socket));
}

}  // namespace dtnn
