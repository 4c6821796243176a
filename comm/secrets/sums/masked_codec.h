// Updates as integers modulo 2^32 under masks that cancel in the sum (comm/secrets/masked): exact
// sums of numbers rounded to 2^-fraction_bits.
//
// The set-up of a round and the revealing of shares are messages of their own, between the
// MaskedClient and MaskedServer that the codecs are given: Encode needs a client that has received
// its shares, Result a server that has rebuilt the secrets. A pair of codecs serves one round.
//
// A chunk is encoded once: a client that must send it again keeps the bytes. A client survives when
// all its chunks have arrived; keep its messages until then, and add them only then: words that
// were added cannot be taken out, and Result refuses a chunk with words of a client that did not
// survive or without those of one that did (FailedPrecondition: the round is lost).

#ifndef DTNN_COMM_SECRETS_SUMS_MASKED_CODEC_H_
#define DTNN_COMM_SECRETS_SUMS_MASKED_CODEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/secrets/masked/masked_client.h"
#include "comm/secrets/masked/masked_server.h"
#include "comm/secrets/sums/codec.h"

namespace dtnn::codec {

struct MaskedCodecOptions {
  masked::MaskedParameters parameters;
  // Numbers below 2^(31 - fraction_bits) / clients fit: 256 at 8 clients.
  int fraction_bits = 20;
  size_t chunk_values = size_t{1} << 16;
};

// The client and the server outlive their codecs.
absl::StatusOr<std::unique_ptr<ClientCodec>> MaskedCodecClient(const MaskedCodecOptions& options,
                                                               masked::MaskedClient& client);
absl::StatusOr<std::unique_ptr<ServerCodec>> MaskedCodecServer(const MaskedCodecOptions& options,
                                                               const masked::MaskedServer& server);

}  // namespace dtnn::codec

#endif  // DTNN_COMM_SECRETS_SUMS_MASKED_CODEC_H_
