#include "comm/transport/relay/packet.h"

#include <cstring>
#include <vector>

#include "comm/secrets/crypto/sealed_message.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

std::span<const uint8_t> BytesOf(const PacketHeader& header) {
  return {reinterpret_cast<const uint8_t*>(&header), sizeof(header)};
}

}  // namespace

absl::StatusOr<std::string> SealPacket(const Secret& key, const PacketHeader& header,
                                       std::span<const uint8_t> payload) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint8_t> sealed, Seal(key, BytesOf(header), payload));
  std::string bytes;
  bytes.reserve(sizeof(header) + sealed.size());
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(sealed.data()), sealed.size());
  return bytes;
}

std::string BarePacket(const PacketHeader& header) {
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
}

std::optional<Packet> ReadPacket(std::string_view bytes, int rank) {
  Packet packet;
  if (bytes.size() < sizeof(PacketHeader)) return std::nullopt;
  std::memcpy(&packet.header, bytes.data(), sizeof(PacketHeader));
  const PacketHeader& header = packet.header;
  if (header.version != kPacketVersion || header.kind > PacketHeader::Kind::kWrong) {
    return std::nullopt;
  }
  if (header.to != rank || header.from < 0 || header.from == rank || header.number < 0) {
    return std::nullopt;
  }
  const size_t sealed = bytes.size() - sizeof(PacketHeader);
  if (sealed > kMostPayload + kSealBytes) return std::nullopt;
  packet.sealed = {reinterpret_cast<const uint8_t*>(bytes.data()) + sizeof(PacketHeader), sealed};
  return packet;
}

absl::StatusOr<WipedVector<uint8_t>> OpenPacket(const Secret& key, const Packet& packet) {
  return Open(key, BytesOf(packet.header), packet.sealed);
}

}  // namespace dtnn
