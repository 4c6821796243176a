// Codecs whose bytes are authenticated: what programs send. Each message begins with a header that
// says version, kind, codec and parameters, round, chunk and client, and a tag over header and body
// (comm/secrets/crypto/sealed_message.h), so a message that was changed, sent again in another
// round or place, or made by somebody without the key is refused before its body is looked at.
//
// Keys come from one secret of the job, which is new for every run, also one that resumes: tags do
// not name the run, and one that counts the same rounds again with the same secret would take
// recorded messages for its own. Each client has its own key and the server's; the server has all.
// The server's key is shared by all clients, so a client could forge a result for another one where
// it can put bytes in its way: that is for TLS to prevent.

#ifndef DTNN_COMM_SECRETS_SUMS_AUTHENTICATED_H_
#define DTNN_COMM_SECRETS_SUMS_AUTHENTICATED_H_

#include <memory>
#include <set>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/sums/codec.h"

namespace dtnn::codec {

// For the tags of what client `client`, or the server, sends.
absl::StatusOr<Secret> ClientTagKey(const Secret& job, int client);
absl::StatusOr<Secret> ServerTagKey(const Secret& job);

// The longest message of a codec: receive no more.
size_t MostMessageBytes(const CodecDescription& description);

class UpdateClient {
 public:
  UpdateClient(std::unique_ptr<ClientCodec> codec, int client, const Secret& own_key,
               const Secret& server_key)
      : codec_(std::move(codec)), client_(client), own_key_(own_key), server_key_(server_key) {}

  const CodecDescription& description() const { return codec_->description(); }

  absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values);
  absl::StatusOr<Bytes> Answer(ChunkId id, std::span<const uint8_t> question);
  absl::Status Decode(ChunkId id, std::span<const uint8_t> result, std::span<float> values);

 private:
  std::unique_ptr<ClientCodec> codec_;
  int client_;
  Secret own_key_, server_key_;
};

class UpdateServer;

// The sum of one chunk. A client adds once, and answers once; a message that is refused changes
// nothing, so the client may send a good one.
class UpdateSum {
 public:
  absl::Status Add(int client, std::span<const uint8_t> message);
  absl::StatusOr<Bytes> Question();
  absl::Status AddAnswer(int client, std::span<const uint8_t> message);
  absl::StatusOr<Bytes> Result();
  absl::Status Read(std::span<float> values) { return sum_->Read(values); }

  const std::set<int>& added() const { return added_; }

 private:
  friend class UpdateServer;
  UpdateSum(const UpdateServer& server, ChunkId id, std::unique_ptr<ChunkSum> sum)
      : server_(&server), id_(id), sum_(std::move(sum)) {}

  const UpdateServer* server_;
  ChunkId id_;
  std::unique_ptr<ChunkSum> sum_;
  std::set<int> added_, answered_;
};

class UpdateServer {
 public:
  UpdateServer(std::unique_ptr<ServerCodec> codec, const Secret& job)
      : codec_(std::move(codec)), job_(job) {}

  const CodecDescription& description() const { return codec_->description(); }
  bool asks() const { return codec_->asks(); }

  // The server outlives its sums.
  absl::StatusOr<UpdateSum> NewSum(ChunkId id, size_t values);

 private:
  friend class UpdateSum;
  const std::unique_ptr<ServerCodec> codec_;
  const Secret job_;
};

}  // namespace dtnn::codec

#endif  // DTNN_COMM_SECRETS_SUMS_AUTHENTICATED_H_
