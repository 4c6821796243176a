#include "comm/mqtt/mqtt_will.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "comm/crypto/hash.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kTopicBytes = 16;

absl::StatusOr<Proof> Prove(const JobSecret& secret, std::span<const uint8_t> who) {
  return secret.Prove({AsBytes("a rank's will"), who});
}

}  // namespace

absl::StatusOr<std::string> JobTopic(const JobSecret& secret) {
  DTNN_ASSIGN_OR_RETURN(const Proof proof, secret.Prove({AsBytes("the topic of a job")}));
  const absl::string_view bytes(reinterpret_cast<const char*>(proof.data()), kTopicBytes);
  return "dtnn/" + absl::BytesToHexString(bytes);
}

absl::StatusOr<std::vector<uint8_t>> MakeWill(const JobSecret& secret, const Instance& who) {
  WireWriter writer;
  writer.Number(uint32_t(who.rank));
  writer.Number(who.number);
  DTNN_ASSIGN_OR_RETURN(const Proof proof, Prove(secret, writer.bytes()));
  writer.Bytes(proof);
  return std::move(writer).Take();
}

std::optional<Instance> ReadWill(const JobSecret& secret, std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "will");
  const uint32_t rank = reader.Number<uint32_t>();
  const uint64_t number = reader.Number<uint64_t>();
  Proof proof = {};
  const std::span<const uint8_t> given = reader.Bytes(proof.size());
  if (!reader.Done().ok()) return std::nullopt;
  std::ranges::copy(given, proof.begin());
  const absl::StatusOr<bool> proves =
      secret.Proves(proof, {AsBytes("a rank's will"), bytes.first(bytes.size() - proof.size())});
  if (!proves.ok() || !*proves) return std::nullopt;
  return Instance{int(rank), number};
}

}  // namespace dtnn
