// Encryption, sums of ciphertexts, decryption: CKKS (Cheon, Kim, Kim, Song, "Homomorphic encryption
// for arithmetic of approximate numbers", 2017) without products.
//
// A ciphertext of m is (c0, c1) with c0 + c1 s = m + a small error, so the sum of ciphertexts is a
// ciphertext of the sum: adding needs no key. Sums wrap around beyond sum_limit(); `limit`,
// the bound on each client's numbers, is at most sum_limit() / clients.
//
// Cost at degree n, per prime: one transform (n/2 log2 n butterflies) and one product of n numbers
// with a secret key, three and two with a public key; one and one to decrypt; 2n additions per sum.
// Safe from several threads: nothing is shared but the context and keys, which are not changed.

#ifndef DTNN_COMM_SECRETS_CKKS_CIPHER_H_
#define DTNN_COMM_SECRETS_CKKS_CIPHER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/ckks/context.h"
#include "comm/secrets/ckks/keys.h"

namespace dtnn::ckks {

struct Ciphertext {
  std::vector<uint64_t> c0, c1;
  uint32_t summands = 1;
};

// A fresh one under a secret key: c1 is uniform, so 32 bytes stand for it, and it is half as long.
struct SeededCiphertext {
  std::vector<uint64_t> c0;
  Seed seed{};
};

// Encrypts at most values() numbers; T is float or double. Errors: Encoder::Encode's.
template <typename T>
absl::StatusOr<SeededCiphertext> Encrypt(const CkksContext& context, const SecretKey& key,
                                         std::span<const T> values, double limit);
template <typename T>
absl::StatusOr<Ciphertext> Encrypt(const CkksContext& context, const PublicKey& key,
                                   std::span<const T> values, double limit);

absl::StatusOr<Ciphertext> Expand(const CkksContext& context, SeededCiphertext x);

// sum += x, where both have the same parameters.
absl::Status Add(const CkksContext& context, Ciphertext& sum, const Ciphertext& x);
absl::Status Add(const CkksContext& context, Ciphertext& sum, const SeededCiphertext& x);
template <typename T>
absl::Status AddPlain(const CkksContext& context, Ciphertext& sum, std::span<const T> values,
                      double limit);

// The first values.size() numbers. DataLoss with another key than the one of encryption. Publishing
// what was decrypted reveals the errors in it, and with them the key, bit by bit (Li and
// Micciancio, 2021): it stays with those who hold the key, or is flooded with noise (threshold.h).
template <typename T>
absl::Status Decrypt(const CkksContext& context, const SecretKey& key, const Ciphertext& x,
                     std::span<T> values);

std::vector<uint8_t> ToBytes(const CkksContext& context, const Ciphertext& x);
std::vector<uint8_t> ToBytes(const CkksContext& context, const SeededCiphertext& x);
absl::StatusOr<Ciphertext> CiphertextFromBytes(const CkksContext& context,
                                               std::span<const uint8_t> bytes);
absl::StatusOr<SeededCiphertext> SeededCiphertextFromBytes(const CkksContext& context,
                                                           std::span<const uint8_t> bytes);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_CIPHER_H_
