// Tags by which a client that is asked to decrypt recognises the sum of all clients' ciphertexts.
// Without them an aggregator may ask for anything: one client's ciphertext, or a number of its own
// that shows the client's part of the key (threshold.h).
//
// They are of c1, the half of a ciphertext that decryption multiplies by the key, and linear: tags
// that are added are the tag of the sum (Agrawal and Boneh, "Homomorphic MACs: MAC-based integrity
// for network coding", 2009). Client i's tag of chunk c is, for each prime q and j = 0, 1,
//
//   sum over k of a_jk c1_k, plus r_ijc   modulo q
//
// where all a and r follow from a secret that clients have and the aggregator does not. The a hash;
// each r hides one hash, so tags say nothing about the a. To accept another c1 than the sum of what
// all clients have tagged, each once, a client must be given the right two hashes of the
// difference d, modulo a prime q where d is not 0: for each j, the sum over k of a_jk d_k. With one
// d_k that is not 0 this takes each value for as many a_jk, whatever the other a are, and tags have
// said nothing about them. So it is a guess, with a probability of 1 / q^2 (less than 2^-80 at the
// default primes) for each question. A client is asked once for each chunk, so n clients and c
// chunks are n c guesses at most, each of which, if refused, rules out one value for the next.
//
// The secret must be new for every sum: a chunk is tagged once with it.

#ifndef DTNN_COMM_SECRETS_CKKS_LINEAR_TAG_H_
#define DTNN_COMM_SECRETS_CKKS_LINEAR_TAG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/ckks/context.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::ckks {

// Two numbers for each prime.
using LinearTag = std::vector<uint64_t>;

size_t LinearTagBytes(const CkksContext& context);
std::vector<uint8_t> ToBytes(const LinearTag& tag);
// DataLoss for another length, or numbers that are not reduced.
absl::StatusOr<LinearTag> LinearTagFromBytes(const CkksContext& context,
                                             std::span<const uint8_t> bytes);
// sum += tag, which takes no secret.
void AddTo(const CkksContext& context, LinearTag& sum, const LinearTag& tag);

// What clients make and check tags with.
class LinearTagger {
 public:
  // The context outlives it.
  static absl::StatusOr<LinearTagger> Create(const CkksContext& context, const Secret& secret);

  absl::StatusOr<LinearTag> TagOf(std::span<const uint64_t> c1, int client, uint32_t chunk) const;
  // Unauthenticated unless c1 is the sum of what clients 0 .. clients - 1 have tagged as this
  // chunk.
  absl::Status CheckSum(std::span<const uint64_t> c1, int clients, uint32_t chunk,
                        const LinearTag& tag) const;

 private:
  LinearTagger(const CkksContext& context, const Secret& secret)
      : context_(&context), secret_(secret) {}
  absl::Status AddPad(int client, uint32_t chunk, LinearTag& tag) const;
  LinearTag HashOf(std::span<const uint64_t> c1) const;

  const CkksContext* context_;
  Secret secret_;
  WipedVector<uint64_t> a_;  // two polynomials
};

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_LINEAR_TAG_H_
