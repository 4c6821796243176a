#include "comm/transport/relay/packet.h"

#include <cstring>
#include <functional>

#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/crypto/sealed_message.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

constexpr int kMe = 2;

PacketHeader HeaderOf(const std::function<void(PacketHeader&)>& change = [](PacketHeader&) {}) {
  PacketHeader header = {.version = kPacketVersion,
                         .kind = PacketHeader::Kind::kBytes,
                         .from = 1,
                         .to = kMe,
                         .size = 3,
                         .number = 7};
  change(header);
  return header;
}

bool IsPacket(const PacketHeader& header) {
  return ReadPacket(BarePacket(header), kMe).has_value();
}

// A transport may deliver packets that are for other ranks too.
TEST(PacketTest, PacketsForOtherRanksOrFromThisOneAreRefused) {
  EXPECT_TRUE(IsPacket(HeaderOf()));
  const std::function<void(PacketHeader&)> kBad[] = {
      [](PacketHeader& header) { header.to = 0; },
      [](PacketHeader& header) { header.to = 3; },
      [](PacketHeader& header) { header.to = -1; },
      [](PacketHeader& header) { header.from = -1; },
      [](PacketHeader& header) { header.from = kMe; },
      [](PacketHeader& header) { header.number = -1; },
      [](PacketHeader& header) { header.version += 1; },
      [](PacketHeader& header) { header.kind = PacketHeader::Kind(9); },
  };
  for (const auto& change : kBad) EXPECT_FALSE(IsPacket(HeaderOf(change))) << &change - kBad;
}

TEST(PacketTest, BytesThatAreTooFewOrTooManyAreNoPacket) {
  const std::string bare = BarePacket(HeaderOf());
  for (const size_t size : {size_t{0}, size_t{1}, bare.size() - 1}) {
    EXPECT_FALSE(ReadPacket(bare.substr(0, size), kMe).has_value()) << size;
  }
  const size_t most = kMostPayload + kSealBytes;
  EXPECT_TRUE(ReadPacket(bare + std::string(most, 'x'), kMe).has_value());
  EXPECT_FALSE(ReadPacket(bare + std::string(most + 1, 'x'), kMe).has_value());
}

TEST(PacketTest, APayloadIsOpenedUnderItsOwnHeaderAndKeyOnly) {
  const Secret key = Must(RandomSecret());
  const std::vector<uint8_t> payload = {1, 2, 3};
  const std::string sealed = Must(SealPacket(key, HeaderOf(), payload));
  const WipedVector<uint8_t> opened = Must(OpenPacket(key, *ReadPacket(sealed, kMe)));
  EXPECT_EQ(std::vector<uint8_t>(opened.begin(), opened.end()), payload);
  EXPECT_FALSE(OpenPacket(Must(RandomSecret()), *ReadPacket(sealed, kMe)).ok());
  const std::function<void(PacketHeader&)> kChanges[] = {
      [](PacketHeader& header) { header.from = 0; },
      [](PacketHeader& header) { header.number += 1; },
      [](PacketHeader& header) { header.size = 4; },
      [](PacketHeader& header) { header.kind = PacketHeader::Kind::kEnd; },
  };
  for (const auto& change : kChanges) {
    const PacketHeader header = HeaderOf(change);
    std::string forged = sealed;
    std::memcpy(forged.data(), &header, sizeof(header));
    EXPECT_FALSE(OpenPacket(key, *ReadPacket(forged, kMe)).ok()) << &change - kChanges;
  }
}

}  // namespace
}  // namespace dtnn
