// Updates in fewer bytes (comm/secrets/sums/packed_codec.h): what clients have changed of the
// parameters of the round, not the parameters, which would lose all that is smaller than their own
// rounding. Running statistics, which must not become negative, are sent as they are, in float32.
//
//   bf16, fp16      8 and 11 significant bits, rounded to the nearest
//   int8            one byte, rounded by chance so that its mean is the number
//   top-k:FRACTION  the FRACTION of the numbers that are largest. What is not sent is added to what
//                   the client sends in its next round (error feedback): Seide et al., "1-bit
//                   stochastic gradient descent", 2014; Stich et al., "Sparsified SGD with memory",
//                   2018. Else small changes of one direction would never be sent
//
// An aggregator adds what it was sent to the parameters of the round, and continues as with an
// update that was not compressed. A simulation compresses by the same functions.

#ifndef DTNN_COMM_FEDERATION_COMPRESSION_H_
#define DTNN_COMM_FEDERATION_COMPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/sums/codec.h"
#include "tensor/philox.h"

namespace dtnn::federation {

enum class CompressionKind : uint8_t { kNone, kBfloat16, kFloat16, kInt8, kTopK };

struct Compression {
  CompressionKind kind = CompressionKind::kNone;
  double fraction = 0;  // of top-k

  bool on() const { return kind != CompressionKind::kNone; }
  // Whether clients keep what they have not sent.
  bool owes() const { return kind == CompressionKind::kTopK; }
  friend bool operator==(const Compression&, const Compression&) = default;
};

// "none", "bf16", ..., "top-k:0.01". InvalidArgument, which says what is expected, for other texts:
// FRACTION is more than 0, and half at most.
absl::StatusOr<Compression> ParseCompression(std::string_view text);
// Whether an aggregator may send these numbers.
bool IsValid(const Compression& compression);

// The random numbers of a client's update: functions of these, so that all attempts at a round, and
// a simulation, round alike.
absl::StatusOr<Philox> RoundingOf(uint64_t seed, std::string_view client, int64_t round);

// Codecs of the differences (update_numbers.h) of networks with so many trainable numbers.
absl::StatusOr<std::unique_ptr<codec::ClientCodec>> CompressedClient(const Compression& compression,
                                                                     size_t chunk_values,
                                                                     size_t trainable,
                                                                     const Philox& random);
absl::StatusOr<std::unique_ptr<codec::ServerCodec>> CompressedServer(const Compression& compression,
                                                                     size_t chunk_values,
                                                                     size_t trainable);

// Makes all but those 0 that top-k sends: the `fraction` of the first `trainable` numbers, one at
// least, that is largest; of equal ones the first. NaN is the largest, and so is not lost. Nothing
// where another kind, or none, is asked for.
void Select(const Compression& compression, size_t trainable, std::span<float> difference);

// What a client owes after a round: of the trainable numbers those that Select makes 0.
std::vector<float> Owed(const Compression& compression, size_t trainable,
                        std::vector<float> difference);

// The numbers that an aggregator reads of a difference.
absl::StatusOr<std::vector<float>> SendAndRead(const Compression& compression, size_t chunk_values,
                                               size_t trainable, const Philox& random,
                                               std::vector<float> difference);

// Turns a difference that was read into an update that was trained from `begin`, times the client's
// factor. On all threads (tensor/threads/parallel_for.h).
void AddBegin(std::span<const float> begin, size_t trainable, double factor,
              std::span<float> update);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_COMPRESSION_H_
