// What two ranks say to each other through somebody else: a header of fixed size, and a payload
// that is encrypted and bound to the header (comm/secrets/crypto/sealed_message.h). Its carrier
// can read which rank sends how much to which, and can drop it, and no more. Calls and answers can
// be read by all that know the job's secret, what follows by the two ends only.
//
//   call     who calls, and a new public key; sent until it is answered
//   answer   who answers, and another: from both follows the key of what comes then
//   taken    to a call: another process has joined as that rank
//   size     to a call: the ranks do not agree how many they are
//   ready    the first of each side; as large as any, to show that there is room for it
//   bytes    of the stream
//   read     how much of the other side's bytes has been read so far
//   end      no more bytes come
//   wrong    "I cannot open what you have sent": not sealed, only for messages to people

#ifndef DTNN_COMM_TRANSPORT_RELAY_PACKET_H_
#define DTNN_COMM_TRANSPORT_RELAY_PACKET_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

struct PacketHeader {
  enum class Kind : uint32_t {
    kCall,
    kAnswer,
    kTaken,
    kSize,
    kReady,
    kBytes,
    kRead,
    kEnd,
    kWrong,
  };
  uint32_t version = 0;
  Kind kind = Kind::kWrong;
  int32_t from = 0, to = 0;
  int32_t size = 0;  // of the job
  uint32_t unused = 0;
  int64_t number = 0;  // of a stream's packets, in one direction, from 0
};
static_assert(sizeof(PacketHeader) == 32);

inline constexpr uint32_t kPacketVersion = 0x31524e44;  // "DNR1"
inline constexpr size_t kMostPayload = 256 << 10;

// The packet's bytes.
absl::StatusOr<std::string> SealPacket(const Secret& key, const PacketHeader& header,
                                       std::span<const uint8_t> payload);
std::string BarePacket(const PacketHeader& header);

// Nothing for what cannot be a packet to `rank`; the payload is still sealed, and part of `bytes`.
struct Packet {
  PacketHeader header;
  std::span<const uint8_t> sealed;
};
std::optional<Packet> ReadPacket(std::string_view bytes, int rank);
// Unauthenticated unless sealed by that key for that header.
absl::StatusOr<WipedVector<uint8_t>> OpenPacket(const Secret& key, const Packet& packet);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_PACKET_H_
