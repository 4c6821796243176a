// Keys and ciphertexts as bytes: a header with version, kind and the parameters' fingerprint, 32
// bytes where a seed stands for a polynomial, then the polynomials' numbers, each with as many bits
// as its prime.
//
// The length of a message is known from the parameters, so hostile bytes are refused before
// anything is allocated; every number is checked to be below its prime, and a ciphertext whose
// second half is zero, so that it would hide nothing, is refused. The sender of a message is not
// checked here: see comm/secrets/sums.

#ifndef DTNN_COMM_SECRETS_CKKS_MESSAGE_H_
#define DTNN_COMM_SECRETS_CKKS_MESSAGE_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/ckks/context.h"

namespace dtnn::ckks {

enum class MessageKind : uint8_t {
  kCiphertext = 1,
  kSeededCiphertext,
  kPublicKey,
  kKeyShare,
  kPartialDecryption,
};

struct Message {
  uint32_t number = 0;  // summands of a ciphertext, client of a share
  Seed seed{};          // where the kind has one
  std::vector<std::vector<uint64_t>> polynomials;
};

// The length of every message of this kind.
size_t MessageBytes(const CkksContext& context, MessageKind kind);

// `seed` is ignored where the kind has none.
std::vector<uint8_t> MessageToBytes(const CkksContext& context, MessageKind kind, uint32_t number,
                                    const Seed& seed,
                                    std::initializer_list<std::span<const uint64_t>> polynomials);

// FailedPrecondition where the parameters differ, DataLoss for bytes that are not such a message.
absl::StatusOr<Message> MessageFromBytes(const CkksContext& context, MessageKind kind,
                                         std::span<const uint8_t> bytes);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_MESSAGE_H_
