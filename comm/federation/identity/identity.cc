#include "comm/federation/identity/identity.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "comm/federation/messages.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

template <size_t n>
std::array<uint8_t, n> Array(WireReader& reader) {
  std::array<uint8_t, n> array{};
  std::ranges::copy(reader.Bytes(n), array.begin());
  return array;
}

void PutName(WireWriter& writer, std::string_view name) {
  writer.Number(uint16_t(name.size()));
  writer.Bytes(AsBytes(name));
}

std::string_view LabelOf(Side side) {
  return side == Side::kClient ? "DTNN federation: proof of a client"
                               : "DTNN federation: proof of the aggregator";
}

}  // namespace

Bytes ToBytes(const Introduction& message) {
  WireWriter writer;
  PutName(writer, message.name);
  writer.Bytes(message.nonce);
  return std::move(writer).Take();
}

absl::StatusOr<Introduction> IntroductionFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "introduction");
  Introduction message;
  const std::span<const uint8_t> name = reader.Bytes(reader.Number<uint16_t>());
  message.name.assign(name.begin(), name.end());
  message.nonce = Array<sizeof(IdentityNonce)>(reader);
  DTNN_RETURN_IF_ERROR(reader.Done());
  DTNN_RETURN_IF_ERROR(CheckClientName(message.name));
  return message;
}

Bytes ToBytes(const Challenge& message) {
  WireWriter writer;
  writer.Bytes(message.nonce);
  writer.Number(uint8_t(message.wants_proof));
  writer.Number(uint8_t(message.signature.has_value()));
  if (message.signature) writer.Bytes(*message.signature);
  return std::move(writer).Take();
}

absl::StatusOr<Challenge> ChallengeFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "challenge");
  Challenge message;
  message.nonce = Array<sizeof(IdentityNonce)>(reader);
  const uint8_t wants_proof = reader.Number<uint8_t>(), is_signed = reader.Number<uint8_t>();
  if (is_signed == 1) message.signature = Array<sizeof(Ed25519Signature)>(reader);
  DTNN_RETURN_IF_ERROR(reader.Done());
  if (wants_proof > 1 || is_signed > 1) return DataLoss("challenge: no aggregator sends this one");
  message.wants_proof = wants_proof == 1;
  return message;
}

Bytes TranscriptOf(Side side, const Encounter& encounter) {
  WireWriter writer;
  writer.Bytes(AsBytes(LabelOf(side)));
  writer.Number(kFrameVersion);
  PutName(writer, encounter.client.name);
  writer.Bytes(encounter.client.nonce);
  writer.Bytes(encounter.aggregator_nonce);
  writer.Number(uint16_t(encounter.binding.size()));
  writer.Bytes(encounter.binding);
  return std::move(writer).Take();
}

absl::StatusOr<Ed25519Signature> SignEncounter(Side side, const Encounter& encounter,
                                               const Secret& private_key) {
  return Ed25519Sign(private_key, TranscriptOf(side, encounter));
}

absl::StatusOr<bool> ProvesEncounter(Side side, const Encounter& encounter,
                                     const Ed25519PublicKey& key,
                                     const Ed25519Signature& signature) {
  return Ed25519Verifies(key, TranscriptOf(side, encounter), signature);
}

}  // namespace dtnn::federation
