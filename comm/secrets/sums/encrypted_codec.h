// Updates that only clients can read: CKKS with one key that all clients share and the server does
// not have, or with threshold keys, which no client has alone (comm/secrets/ckks). A chunk is one
// ciphertext.

#ifndef DTNN_COMM_SECRETS_SUMS_ENCRYPTED_CODEC_H_
#define DTNN_COMM_SECRETS_SUMS_ENCRYPTED_CODEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/secrets/ckks/context.h"
#include "comm/secrets/ckks/keys.h"
#include "comm/secrets/ckks/threshold.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/sums/codec.h"

namespace dtnn::codec {

using CkksContextPointer = std::shared_ptr<const ckks::CkksContext>;

// Codec "ckks". `clients`: the most that a sum has, one more is refused; each number must be below
// sum_limit() / clients. `seed` is the key that all clients share.
absl::StatusOr<std::unique_ptr<ClientCodec>> CkksClient(CkksContextPointer context, int clients,
                                                        const Secret& seed);
absl::StatusOr<std::unique_ptr<ServerCodec>> CkksServer(CkksContextPointer context, int clients);

// Codec "threshold". `self` has joined `key` with all others. The server asks all clients for their
// part of the decryption, and learns the sum. With each update goes a tag
// (comm/secrets/ckks/linear_tag.h), made with `tags`, which is new for every sum and which all
// clients have: by the tags' sum a client knows that it is the sum of all updates that it is asked
// to decrypt; Unauthenticated else.
absl::StatusOr<std::unique_ptr<ClientCodec>> ThresholdCodecClient(CkksContextPointer context,
                                                                  int clients,
                                                                  ckks::ThresholdClient self,
                                                                  ckks::PublicKey key,
                                                                  const Secret& tags);
absl::StatusOr<std::unique_ptr<ServerCodec>> ThresholdCodecServer(CkksContextPointer context,
                                                                  int clients);

}  // namespace dtnn::codec

#endif  // DTNN_COMM_SECRETS_SUMS_ENCRYPTED_CODEC_H_
