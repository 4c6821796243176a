#include "comm/ranks/group/control_message.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tensor/rounding.h"

namespace dtnn {
namespace {

constexpr size_t kMaxText = 1000;

// What precedes the lists of ranks, rank 0 in the lowest bit of the first byte, and the text.
struct Header {
  ControlMessage::Kind kind;
  int32_t group;
  int64_t calls, sent, received, silent_for;
  int32_t departure_code, code;
  uint32_t number, lost, late, text;  // the last three: bytes
};

// The bytes are those of the machine: x86-64 only. None of them is left unset.
static_assert(std::has_unique_object_representations_v<Header>);

// From another process: what a clock can count, and no time before now.
std::chrono::milliseconds TimeOf(int64_t milliseconds) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kMost =
      std::chrono::floor<std::chrono::milliseconds>(steady_clock::duration::max());
  return std::chrono::milliseconds(std::clamp<int64_t>(milliseconds, 0, kMost.count()));
}

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

size_t MaxControlBytes(int ranks) {
  return sizeof(Header) + 2 * CeilDiv(size_t(ranks), 8) + kMaxText;
}

std::string Encode(const ControlMessage& message) {
  const std::string lost = BitsOf(message.lost), late = BitsOf(message.late);
  const std::string text(message.status.message());
  Header header = {};
  header.kind = message.kind;
  header.group = message.group;
  header.calls = message.calls;
  header.sent = message.sent;
  header.received = message.received;
  header.silent_for = message.silent_for.count();
  header.departure_code = message.departure_code;
  header.number = message.number;
  header.code = int32_t(message.status.code());
  header.lost = uint32_t(lost.size());
  header.late = uint32_t(late.size());
  header.text = uint32_t(std::min(text.size(), kMaxText));
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  return bytes.append(lost).append(late).append(text, 0, header.text);
}

std::optional<ControlMessage> Decode(std::string_view bytes, int ranks) {
  Header header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (bytes.size() > MaxControlBytes(ranks) ||
      bytes.size() !=
          sizeof(header) + size_t(header.lost) + size_t(header.late) + size_t(header.text) ||
      header.kind < ControlMessage::Kind::kQuery || header.kind > ControlMessage::Kind::kHello) {
    return std::nullopt;
  }
  ControlMessage message;
  message.kind = header.kind;
  message.group = header.group;
  message.calls = header.calls;
  message.sent = header.sent;
  message.received = header.received;
  message.silent_for = TimeOf(header.silent_for);
  message.departure_code = header.departure_code;
  message.number = header.number;
  bytes.remove_prefix(sizeof(header));
  message.lost = RanksOf(bytes.substr(0, header.lost));
  message.late = RanksOf(bytes.substr(header.lost, header.late));
  for (const std::vector<int>* list : {&message.lost, &message.late}) {
    if (!list->empty() && list->back() >= ranks) return std::nullopt;
  }
  const std::string text(bytes.substr(size_t(header.lost) + header.late));
  message.status = absl::Status(absl::StatusCode(header.code), text);
  return message;
}

}  // namespace dtnn
