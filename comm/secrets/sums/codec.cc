#include "comm/secrets/sums/codec.h"

#include <algorithm>

#include "comm/secrets/crypto/hash.h"

namespace dtnn::codec {

absl::StatusOr<CodecDescription> Describe(std::string_view name, size_t chunk_values,
                                          size_t most_bytes, std::string_view parameters) {
  CodecDescription description{name, chunk_values, most_bytes, {}};
  const std::string text =
      StrCat("DTNN codec 1: ", name, ", chunks of ", chunk_values, ", ", parameters);
  DTNN_ASSIGN_OR_RETURN(const Hash hash, Sha256({AsBytes(text)}));
  std::copy_n(hash.begin(), description.fingerprint.size(), description.fingerprint.begin());
  return description;
}

absl::Status CheckChunkSize(const CodecDescription& description, ChunkId id, size_t values) {
  if (values > 0 && values <= description.chunk_values) return absl::OkStatus();
  return InvalidArgument("codec ", description.name, ": chunk ", id.chunk, " of ", values,
                         " numbers: chunks have 1 to ", description.chunk_values);
}

absl::Status CheckReadSize(ChunkId id, size_t values, size_t wanted) {
  if (values == wanted) return absl::OkStatus();
  return InvalidArgument("chunk ", id.chunk, " of round ", id.round, " has ", values,
                         " numbers, not ", wanted);
}

}  // namespace dtnn::codec
