#include "comm/secrets/sums/authenticated.h"

#include <algorithm>

#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/sealed_message.h"
#include "comm/wire/wire.h"

namespace dtnn::codec {
namespace {

constexpr uint32_t kMagic = 0x44435544;  // "DUCD"
constexpr uint8_t kVersion = 1;
constexpr size_t kHeader = 4 + 1 + 1 + 16 + 8 + 4 + 4;
constexpr int kToAll = -1;  // the client of what the server sends

enum class Kind : uint8_t { kUpdate = 1, kQuestion, kAnswer, kResult };

constexpr std::string_view NameOf(Kind kind) {
  constexpr std::string_view kNames[] = {"update", "question", "answer", "result"};
  return kNames[size_t(kind) - 1];
}

Bytes HeaderOf(const CodecDescription& description, Kind kind, ChunkId id, int client) {
  WireWriter writer;
  writer.Number(kMagic);
  writer.Number(kVersion);
  writer.Number(uint8_t(kind));
  writer.Bytes(description.fingerprint);
  writer.Number(id.round);
  writer.Number(id.chunk);
  writer.Number(uint32_t(client));
  return std::move(writer).Take();
}

// Header, tag, body.
absl::StatusOr<Bytes> Wrap(const Secret& key, const CodecDescription& description, Kind kind,
                           ChunkId id, int client, std::span<const uint8_t> body) {
  Bytes message = HeaderOf(description, kind, id, client);
  DTNN_ASSIGN_OR_RETURN(const Bytes tag, MakeTag(key, message, body));
  message.reserve(message.size() + tag.size() + body.size());
  message.insert(message.end(), tag.begin(), tag.end());
  message.insert(message.end(), body.begin(), body.end());
  return message;
}

// What is wrong with a header that is not the expected one, for people.
absl::Status Mismatch(const CodecDescription& description, Kind kind, ChunkId id, int client,
                      std::span<const uint8_t> header) {
  const std::string what =
      StrCat(NameOf(kind), " of chunk ", id.chunk, " in round ", id.round,
             client == kToAll ? std::string() : StrCat(" from client ", client));
  WireReader reader(header, NameOf(kind));
  const uint32_t magic = reader.Number<uint32_t>();
  const uint8_t version = reader.Number<uint8_t>(), found = reader.Number<uint8_t>();
  const std::span<const uint8_t> fingerprint = reader.Bytes(description.fingerprint.size());
  const uint64_t round = reader.Number<uint64_t>();
  const uint32_t chunk = reader.Number<uint32_t>(), from = reader.Number<uint32_t>();
  if (magic != kMagic || found != uint8_t(kind)) return DataLoss(what, ": these bytes are none");
  if (version != kVersion) {
    return FailedPrecondition(what, ": has version ", int{version}, ", this program reads ",
                              int{kVersion});
  }
  if (!std::ranges::equal(fingerprint, description.fingerprint)) {
    return FailedPrecondition(what, ": was made by another codec than ", description.name,
                              ", or with other parameters");
  }
  return absl::UnauthenticatedError(StrCat(what, ": says that it is of chunk ", chunk, " in round ",
                                           round, ", client ", int32_t(from)));
}

// The body.
absl::StatusOr<std::span<const uint8_t>> Unwrap(const Secret& key,
                                                const CodecDescription& description, Kind kind,
                                                ChunkId id, int client,
                                                std::span<const uint8_t> message) {
  if (message.size() < kHeader + kSealBytes || message.size() > MostMessageBytes(description)) {
    return DataLoss(NameOf(kind), " of chunk ", id.chunk, ": has ", message.size(),
                    " bytes, expected ", kHeader + kSealBytes, " to ",
                    MostMessageBytes(description));
  }
  const std::span<const uint8_t> header = message.first(kHeader);
  if (!std::ranges::equal(header, HeaderOf(description, kind, id, client))) {
    return Mismatch(description, kind, id, client, header);
  }
  const std::span<const uint8_t> body = message.subspan(kHeader + kSealBytes);
  DTNN_RETURN_IF_ERROR(
      WithContext(CheckTag(key, header, body, message.subspan(kHeader, kSealBytes)), NameOf(kind),
                  " of chunk ", id.chunk, " in round ", id.round,
                  client == kToAll ? std::string() : StrCat(", client ", client)));
  return body;
}

}  // namespace

absl::StatusOr<Secret> ClientTagKey(const Secret& job, int client) {
  WireWriter number;
  number.Number(uint32_t(client));
  return DeriveSecret(job, "DTNN updates of a client", number.bytes());
}

absl::StatusOr<Secret> ServerTagKey(const Secret& job) {
  return DeriveSecret(job, "DTNN sums of the server");
}

size_t MostMessageBytes(const CodecDescription& description) {
  return kHeader + kSealBytes + description.most_bytes;
}

absl::StatusOr<Bytes> UpdateClient::Encode(ChunkId id, std::span<const float> values) {
  DTNN_RETURN_IF_ERROR(CheckChunkSize(description(), id, values.size()));
  DTNN_ASSIGN_OR_RETURN(const Bytes body, codec_->Encode(id, values));
  return Wrap(own_key_, description(), Kind::kUpdate, id, client_, body);
}

absl::StatusOr<Bytes> UpdateClient::Answer(ChunkId id, std::span<const uint8_t> question) {
  DTNN_ASSIGN_OR_RETURN(const std::span<const uint8_t> asked,
                        Unwrap(server_key_, description(), Kind::kQuestion, id, kToAll, question));
  DTNN_ASSIGN_OR_RETURN(const Bytes body, codec_->Answer(id, asked));
  return Wrap(own_key_, description(), Kind::kAnswer, id, client_, body);
}

absl::Status UpdateClient::Decode(ChunkId id, std::span<const uint8_t> result,
                                  std::span<float> values) {
  DTNN_ASSIGN_OR_RETURN(const std::span<const uint8_t> body,
                        Unwrap(server_key_, description(), Kind::kResult, id, kToAll, result));
  return codec_->Decode(id, body, values);
}

absl::Status UpdateSum::Add(int client, std::span<const uint8_t> message) {
  if (added_.contains(client)) {
    return absl::AlreadyExistsError(StrCat("client ", client,
                                           " has already added its update of "
                                           "chunk ",
                                           id_.chunk, " in round ", id_.round));
  }
  DTNN_ASSIGN_OR_RETURN(const Secret key, ClientTagKey(server_->job_, client));
  DTNN_ASSIGN_OR_RETURN(const std::span<const uint8_t> body,
                        Unwrap(key, server_->description(), Kind::kUpdate, id_, client, message));
  DTNN_RETURN_IF_ERROR(sum_->Add(client, body));
  added_.insert(client);
  return absl::OkStatus();
}

absl::StatusOr<Bytes> UpdateSum::Question() {
  DTNN_ASSIGN_OR_RETURN(const Secret key, ServerTagKey(server_->job_));
  DTNN_ASSIGN_OR_RETURN(const Bytes body, sum_->Question());
  return Wrap(key, server_->description(), Kind::kQuestion, id_, kToAll, body);
}

absl::Status UpdateSum::AddAnswer(int client, std::span<const uint8_t> message) {
  if (answered_.contains(client)) {
    return absl::AlreadyExistsError(StrCat("client ", client, " has already answered for chunk ",
                                           id_.chunk, " in round ", id_.round));
  }
  DTNN_ASSIGN_OR_RETURN(const Secret key, ClientTagKey(server_->job_, client));
  DTNN_ASSIGN_OR_RETURN(const std::span<const uint8_t> body,
                        Unwrap(key, server_->description(), Kind::kAnswer, id_, client, message));
  DTNN_RETURN_IF_ERROR(sum_->AddAnswer(client, body));
  answered_.insert(client);
  return absl::OkStatus();
}

absl::StatusOr<Bytes> UpdateSum::Result() {
  DTNN_ASSIGN_OR_RETURN(const Secret key, ServerTagKey(server_->job_));
  DTNN_ASSIGN_OR_RETURN(const Bytes body, sum_->Result());
  return Wrap(key, server_->description(), Kind::kResult, id_, kToAll, body);
}

absl::StatusOr<UpdateSum> UpdateServer::NewSum(ChunkId id, size_t values) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ChunkSum> sum, codec_->NewSum(id, values));
  return UpdateSum(*this, id, std::move(sum));
}

}  // namespace dtnn::codec
