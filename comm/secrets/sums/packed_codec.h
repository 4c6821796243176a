// Updates in fewer bytes than float32 takes, for servers that read each of them: some of what the
// numbers say is lost.
//
//   bf16, fp16   rounded to the nearest (plain_codec.h)
//   int8         blocks of 256 numbers: each a float32 scale s, the largest magnitude / 127, and of
//                each number x one of the two multiples of s beside it, the nearer one with the
//                larger probability, so that x is the mean: Alistarh et al., "QSGD", 2017
//   sparse       what is not 0, with its place in the chunk; nothing is lost here, the client makes
//                numbers 0 before. All numbers, without places, where these are fewer bytes
//
// Only the first `packed_values` numbers of an update are packed. All after them, and sums, travel
// as float32. A body of n packed numbers, little endian, before those that are not:
//
//   int8         for each block float32 s, then the multiples, a byte each
//   sparse       uint32 count; if it is less than n, that many places, uint16 each, ascending; then
//                that many float32
//
// Both sides refuse NaN and infinity; the server checks lengths, scales and places before it uses
// them.

#ifndef DTNN_COMM_SECRETS_SUMS_PACKED_CODEC_H_
#define DTNN_COMM_SECRETS_SUMS_PACKED_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "comm/secrets/sums/codec.h"
#include "tensor/philox.h"

namespace dtnn::codec {

enum class Packing : uint8_t { kBfloat16, kFloat16, kInt8, kSparse };

// The most numbers of a chunk, since places have 16 bits.
inline constexpr size_t kMostPackedValues = 1 << 16;

struct PackedOptions {
  Packing packing = Packing::kBfloat16;
  size_t chunk_values = 0;   // 1 to kMostPackedValues
  size_t packed_values = 0;  // of an update
};

// `random`: by which int8 rounds number i of the update: its i-th.
absl::StatusOr<std::unique_ptr<ClientCodec>> PackedClient(const PackedOptions& options,
                                                          const Philox& random);
absl::StatusOr<std::unique_ptr<ServerCodec>> PackedServer(const PackedOptions& options);

}  // namespace dtnn::codec

#endif  // DTNN_COMM_SECRETS_SUMS_PACKED_CODEC_H_
