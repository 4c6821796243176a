// What an update is on the wire, and how updates are summed: one interface for plain numbers, half
// precision, masks and encryption, so that code that moves bytes need not know which.
//
// An update is a vector of float32, the same length for all clients, cut into chunks. Per chunk:
//
//   client                         server
//   Encode(numbers)            ->  ChunkSum::Add
//   Answer(question)           <-  ChunkSum::Question    only where asks() says so
//                              ->  ChunkSum::AddAnswer
//   Decode(result)             <-  ChunkSum::Result      the sum of all numbers
//
// A ServerCodec and its sums hold no key: adding needs none. Bodies are bytes without
// authentication; UpdateClient and UpdateServer (authenticated.h) wrap them and are what programs
// use. Calls for different chunks may run on different threads.

#ifndef DTNN_COMM_SECRETS_SUMS_CODEC_H_
#define DTNN_COMM_SECRETS_SUMS_CODEC_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/wire/chunk_id.h"
#include "tensor/errors.h"

namespace dtnn::codec {

using Bytes = std::vector<uint8_t>;

// What both sides must agree on.
struct CodecDescription {
  std::string_view name;                  // "plain", "ckks", ...
  size_t chunk_values = 0;                // numbers of a chunk; the last may have fewer
  size_t most_bytes = 0;                  // of any body: nothing longer has to be read
  std::array<uint8_t, 16> fingerprint{};  // of the parameters
};

class ClientCodec {
 public:
  virtual ~ClientCodec() = default;
  virtual const CodecDescription& description() const = 0;

  // At most chunk_values numbers. InvalidArgument where one is NaN, infinite or too large.
  virtual absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values) = 0;
  // What the server needs to know about the sum before it has a result.
  virtual absl::StatusOr<Bytes> Answer(ChunkId id, std::span<const uint8_t> /*question*/) {
    return FailedPrecondition("codec ", description().name, ": chunk ", id.chunk,
                              " needs no answer");
  }
  // The sum, as many numbers as were encoded.
  virtual absl::Status Decode(ChunkId id, std::span<const uint8_t> result,
                              std::span<float> values) = 0;
};

// The sum of one chunk over clients. Bytes that are damaged or of other parameters are refused and
// change nothing.
class ChunkSum {
 public:
  virtual ~ChunkSum() = default;
  virtual absl::Status Add(int client, std::span<const uint8_t> body) = 0;
  virtual absl::StatusOr<Bytes> Question() { return Bytes(); }
  virtual absl::Status AddAnswer(int client, std::span<const uint8_t> /*answer*/) {
    return FailedPrecondition("client ", client, " answers what nobody asked");
  }
  virtual absl::StatusOr<Bytes> Result() = 0;
  // The sum itself, of as many numbers as it was made for, once there is a result: where it is not
  // secret from the server.
  virtual absl::Status Read(std::span<float> /*values*/) {
    return absl::FailedPreconditionError("only clients can read this sum");
  }
};

class ServerCodec {
 public:
  virtual ~ServerCodec() = default;
  virtual const CodecDescription& description() const = 0;
  // Whether Question and answers come before the result.
  virtual bool asks() const { return false; }
  // A sum of `values` numbers.
  virtual absl::StatusOr<std::unique_ptr<ChunkSum>> NewSum(ChunkId id, size_t values) = 0;
};

// Both sides of one codec are made from the same parameters.
absl::StatusOr<CodecDescription> Describe(std::string_view name, size_t chunk_values,
                                          size_t most_bytes, std::string_view parameters);

// InvalidArgument unless 0 < values <= chunk_values.
absl::Status CheckChunkSize(const CodecDescription& description, ChunkId id, size_t values);

// InvalidArgument unless a sum of `values` numbers is read as that many.
absl::Status CheckReadSize(ChunkId id, size_t values, size_t wanted);

}  // namespace dtnn::codec

#endif  // DTNN_COMM_SECRETS_SUMS_CODEC_H_
