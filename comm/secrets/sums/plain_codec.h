// Updates that anybody can read: float32, float16 or bfloat16 on the wire, rounded to the nearest;
// sums are of float32, in the order in which they are added, and travel in the same type as
// updates. NaN and infinity, also of numbers too large for float16, are refused by both sides.

#ifndef DTNN_COMM_SECRETS_SUMS_PLAIN_CODEC_H_
#define DTNN_COMM_SECRETS_SUMS_PLAIN_CODEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/secrets/sums/codec.h"

namespace dtnn::codec {

enum class WireType { kFloat32, kFloat16, kBfloat16 };

// chunk_values > 0 on both sides.
absl::StatusOr<std::unique_ptr<ClientCodec>> PlainClient(WireType type, size_t chunk_values);
absl::StatusOr<std::unique_ptr<ServerCodec>> PlainServer(WireType type, size_t chunk_values);

}  // namespace dtnn::codec

#endif  // DTNN_COMM_SECRETS_SUMS_PLAIN_CODEC_H_
