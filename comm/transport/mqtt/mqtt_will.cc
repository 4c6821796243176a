#include "comm/transport/mqtt/mqtt_will.h"

#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kTopicBytes = 16;

}  // namespace

absl::StatusOr<std::string> JobTopic(const JobSecret& secret) {
  DTNN_ASSIGN_OR_RETURN(const Proof proof, secret.Prove({AsBytes("the topic of a job")}));
  const absl::string_view bytes(reinterpret_cast<const char*>(proof.data()), kTopicBytes);
  return "dtnn/" + absl::BytesToHexString(bytes);
}

std::string TopicOfRank(const std::string& job_topic, int rank) {
  return StrCat(job_topic, rank == 0 ? "/" : "/others/", rank);
}

absl::StatusOr<uint64_t> NumberOf(const JobSecret& secret, const Secret& token) {
  DTNN_ASSIGN_OR_RETURN(const Proof proof, secret.Prove({AsBytes("a rank's will"), token.bytes()}));
  uint64_t number = 0;
  std::memcpy(&number, proof.data(), sizeof(number));
  return number;
}

std::vector<uint8_t> MakeWill(int rank, const Secret& token) {
  WireWriter writer;
  writer.Number(uint32_t(rank));
  writer.Bytes(token.bytes());
  return std::move(writer).Take();
}

std::optional<Instance> ReadWill(const JobSecret& secret, std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "will");
  const uint32_t rank = reader.Number<uint32_t>();
  const std::span<const uint8_t> token = reader.Bytes(Secret::kSize);
  if (!reader.Done().ok()) return std::nullopt;
  const absl::StatusOr<uint64_t> number = NumberOf(secret, Secret(token.first<Secret::kSize>()));
  if (!number.ok()) return std::nullopt;
  return Instance{.rank = int(rank), .number = *number};
}

}  // namespace dtnn
