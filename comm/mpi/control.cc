#include "comm/mpi/control.h"

#include <algorithm>
#include <cstring>

namespace dtnn {
namespace {

constexpr int kControlTag = 2;
constexpr size_t kMaxLost = 64, kMaxText = 1500;

// What precedes the lost ranks and the text.
struct Header {
  ControlMessage::Kind kind;
  int32_t group;
  int64_t calls, sent, received;
  int32_t code;
  uint32_t lost, text;
};
static_assert(sizeof(Header) + kMaxLost * sizeof(int) + kMaxText <= kMaxControlBytes);

}  // namespace

std::string Encode(const ControlMessage& message) {
  Header header = {};
  header.kind = message.kind;
  header.group = message.group;
  header.calls = message.calls;
  header.sent = message.sent;
  header.received = message.received;
  header.code = int32_t(message.status.code());
  header.lost = uint32_t(std::min(message.lost.size(), kMaxLost));
  const std::string text(message.status.message());
  header.text = uint32_t(std::min(text.size(), kMaxText));
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(message.lost.data()), header.lost * sizeof(int));
  bytes.append(text, 0, header.text);
  return bytes;
}

std::optional<ControlMessage> Decode(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.lost > kMaxLost || header.text > kMaxText ||
      bytes.size() != sizeof(header) + header.lost * sizeof(int) + header.text ||
      header.kind < ControlMessage::Kind::kQuery || header.kind > ControlMessage::Kind::kLeave) {
    return std::nullopt;
  }
  ControlMessage message;
  message.kind = header.kind;
  message.group = header.group;
  message.calls = header.calls;
  message.sent = header.sent;
  message.received = header.received;
  message.lost.resize(header.lost);
  std::memcpy(message.lost.data(), bytes.data() + sizeof(header), header.lost * sizeof(int));
  const std::string text(bytes.substr(sizeof(header) + header.lost * sizeof(int)));
  message.status = absl::Status(absl::StatusCode(header.code), text);
  return message;
}

ControlChannel::ControlChannel(MPI_Comm comm, CallGuard& guard) : comm_(comm), guard_(guard) {
  Listen();
}

void ControlChannel::Listen() {
  guard_.Call([&] {
    return MPI_Irecv(buffer_, int(kMaxControlBytes), MPI_BYTE, MPI_ANY_SOURCE, kControlTag, comm_,
                     &incoming_);
  });
}

void ControlChannel::Send(int to, const ControlMessage& message) {
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.bytes = Encode(message);
  guard_.Call([&] {
    return MPI_Isend(outgoing.bytes.data(), int(outgoing.bytes.size()), MPI_BYTE, to, kControlTag,
                     comm_, &outgoing.request);
  });
}

bool ControlChannel::Poll(absl::FunctionRef<void(int, const ControlMessage&)> handle) {
  bool any = false;
  for (int arrived = 1; arrived != 0 && incoming_ != MPI_REQUEST_NULL;) {
    MPI_Status status;
    const int code = guard_.Call([&] { return MPI_Test(&incoming_, &arrived, &status); });
    if (code != MPI_SUCCESS || !arrived) break;
    any = true;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const std::optional<ControlMessage> message =
        Decode(std::string_view(buffer_, size_t(std::max(bytes, 0))));
    Listen();
    if (message) handle(status.MPI_SOURCE, *message);
  }
  outgoing_.remove_if([this](Outgoing& outgoing) {
    int sent = 0;
    const int code =
        guard_.Call([&] { return MPI_Test(&outgoing.request, &sent, MPI_STATUS_IGNORE); });
    // What MPI hangs over may still be read by it.
    return code != kMpiStuck && (code != MPI_SUCCESS || sent != 0);
  });
  return any;
}

void ControlChannel::Close() {
  if (incoming_ == MPI_REQUEST_NULL) return;
  guard_.Call([&] { return MPI_Cancel(&incoming_); });
  guard_.Call([&] { return MPI_Request_free(&incoming_); });
}

}  // namespace dtnn
