#include "comm/mpi/control.h"

#include <algorithm>
#include <cstring>

namespace dtnn {
namespace {

constexpr int kControlTag = 2;
constexpr size_t kMaxText = 1500;

// What precedes the lost ranks, rank 0 in the lowest bit of the first byte, and the text.
struct Header {
  ControlMessage::Kind kind;
  int32_t group;
  int64_t calls, sent, received;
  int32_t code;
  uint32_t lost, text;  // bytes
};

std::string BitsOf(const std::vector<int>& ranks) {
  std::string bits;
  for (const int rank : ranks) {
    const size_t at = size_t(rank) / 8;
    if (bits.size() <= at) bits.resize(at + 1);
    bits[at] = char(bits[at] | 1 << rank % 8);
  }
  return bits;
}

std::vector<int> RanksOf(std::string_view bits) {
  std::vector<int> ranks;
  for (int rank = 0; rank < int(8 * bits.size()); ++rank) {
    if ((bits[size_t(rank) / 8] >> rank % 8 & 1) != 0) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

size_t MaxControlBytes(int ranks) { return sizeof(Header) + (size_t(ranks) + 7) / 8 + kMaxText; }

std::string Encode(const ControlMessage& message) {
  const std::string lost = BitsOf(message.lost);
  const std::string text(message.status.message());
  Header header = {};
  header.kind = message.kind;
  header.group = message.group;
  header.calls = message.calls;
  header.sent = message.sent;
  header.received = message.received;
  header.code = int32_t(message.status.code());
  header.lost = uint32_t(lost.size());
  header.text = uint32_t(std::min(text.size(), kMaxText));
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  return bytes.append(lost).append(text, 0, header.text);
}

std::optional<ControlMessage> Decode(std::string_view bytes, int ranks) {
  Header header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (bytes.size() > MaxControlBytes(ranks) ||
      bytes.size() != sizeof(header) + size_t(header.lost) + size_t(header.text) ||
      header.kind < ControlMessage::Kind::kQuery || header.kind > ControlMessage::Kind::kLeave) {
    return std::nullopt;
  }
  ControlMessage message;
  message.kind = header.kind;
  message.group = header.group;
  message.calls = header.calls;
  message.sent = header.sent;
  message.received = header.received;
  message.lost = RanksOf(bytes.substr(sizeof(header), header.lost));
  if (!message.lost.empty() && message.lost.back() >= ranks) return std::nullopt;
  const std::string text(bytes.substr(sizeof(header) + header.lost));
  message.status = absl::Status(absl::StatusCode(header.code), text);
  return message;
}

ControlChannel::ControlChannel(MPI_Comm comm, CallGuard& guard) : comm_(comm), guard_(guard) {
  MPI_Comm_size(comm, &ranks_);
  buffer_.resize(MaxControlBytes(ranks_));
  Listen();
}

void ControlChannel::Listen() {
  guard_.Call([&] {
    return MPI_Irecv(buffer_.data(), int(buffer_.size()), MPI_BYTE, MPI_ANY_SOURCE, kControlTag,
                     comm_, &incoming_);
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
        Decode(std::string_view(buffer_.data(), size_t(std::max(bytes, 0))), ranks_);
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
