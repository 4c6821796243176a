// Bytes from the network, as a rank meets them: a handshake's messages, then frames of a connection
// on which a call is pending.

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/ranks/exchange/connection.h"
#include "comm/transport/meeting/handshake.h"
#include "comm/transport/tcp/plain_stream.h"

namespace dtnn {
namespace {

void ShakeHands(Handshake handshake, std::string_view bytes) {
  while (handshake.wanted() > 0 && handshake.wanted() <= bytes.size()) {
    const size_t count = handshake.wanted();
    (void)handshake.Take(bytes.substr(0, count));
    (void)handshake.TakeOutput();
    bytes.remove_prefix(count);
  }
}

void TakeFrames(std::string_view bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
  const Socket peer(ends[1]);
  Connection connection(0, 1, 2, {PlainStream(Socket(ends[0])), "fuzz"},
                        [](int, const ControlMessage&) {});
  std::vector<std::byte> memory(64);
  const auto running = std::make_shared<Running>(
      PieceKey{.group = 1},
      Schedule{
          {.kind = Piece::Kind::kReceive, .peer = 1, .begin = 0, .end = 32, .tag = 1},
          {.kind = Piece::Kind::kReduce, .peer = 1, .begin = 0, .end = 32, .tag = 2, .after = 0},
          {.kind = Piece::Kind::kSend, .peer = 1, .begin = 0, .end = 32, .tag = 3, .after = 1}},
      CallMemory{.first = memory.data()}, ReduceOp::kSum, DType::kFloat32);
  connection.Expect(running, 0);
  connection.Expect(running, 1);
  connection.Offer(running, 2);
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, 4096);
    if (send(peer.descriptor(), some.data(), some.size(), MSG_NOSIGNAL) != ssize_t(some.size())) {
      return;
    }
    bytes.remove_prefix(some.size());
    if (!connection.Read().ok()) return;
    connection.Write();
  }
}

}  // namespace
}  // namespace dtnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const dtnn::JobSecret secret = *dtnn::JobSecret::Of(std::string(40, 'a'));
  dtnn::ShakeHands(dtnn::Handshake::Answering(secret, "rank 0 of 2"), bytes);
  dtnn::ShakeHands(*dtnn::Handshake::Calling(secret, "rank 0 of 2"), bytes);
  dtnn::TakeFrames(bytes);
  return 0;
}
