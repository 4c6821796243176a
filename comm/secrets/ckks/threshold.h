// CKKS with a key that nobody holds: client i draws a secret s_i, and the key that all encrypt with
// belongs to s = s_1 + ... + s_N, which is never computed anywhere. A sum is decrypted only where
// every client gives its part c1 s_i, so no client, and no group that lacks one, can decrypt.
//
//   all agree on a seed, hence on a uniform a     Create
//   each sends a hash of its share                commitment()
//   then the share b_i = -a s_i + e_i             share()
//   all check and add them: (sum of b_i, a)       JoinKeyShares, by every client for itself
//   a sum (c0, c1): each sends c1 s_i + noise     Decrypt
//   somebody adds them to c0, and decodes         CombineDecryptions
//
// The hash comes first so that the last client cannot choose its share to cancel all others, which
// would make the joint key its own.
//
// The noise ("flooding") hides what c1 s_i and the error of the sum say about s_i. With a normal
// distribution of deviation sqrt(12 t) 2^(s/2) E, where E is the Euclidean length of the error's
// coefficients, all t decryptions with one key differ from ones that say nothing by a divergence
// (Kullback-Leibler) below 2^-s / 24: s bits of statistical security in the sense of Li,
// Micciancio, Schultz and Sorrell ("Securing approximate homomorphic encryption using differential
// privacy", 2022). The noise makes scales of 2^40 useless here; ValidateThreshold tells.
//
// Assumes that all follow the protocol. A client that lies about its share or part makes the result
// garbage, which is noticed, but not whose fault it is. Decrypt does not check its
// input: an aggregator that asks for one client's ciphertext instead of the sum learns that update,
// and one that asks with c1 = Q / 4 gets Q / 4 s_i + noise, which is s_i, from every client. One
// deviation opens all that was and will be encrypted with the joint key; one answer per chunk and
// round does not help. So callers look first, at tags that the aggregator cannot make
// (linear_tag.h).

#ifndef DTNN_COMM_SECRETS_CKKS_THRESHOLD_H_
#define DTNN_COMM_SECRETS_CKKS_THRESHOLD_H_

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/ckks/cipher.h"
#include "comm/secrets/ckks/context.h"
#include "comm/secrets/ckks/keys.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/wire/chunk_id.h"

namespace dtnn::ckks {

struct ThresholdParameters {
  int clients = 2;
  // Ciphertexts that are decrypted with one joint key, at most: chunks times rounds.
  int64_t decryptions = int64_t{1} << 20;
  int flooding_bits = 30;  // s above
  // The largest error that a mean of all clients may have (six deviations).
  double tolerance = 1e-4;
};

// Standard deviation of the noise per coefficient, in units of 1 / scale.
double FloodingDeviation(const CkksParameters& ckks, const ThresholdParameters& threshold);

// The deviation of a decrypted number of a sum over all clients.
double ThresholdDeviation(const CkksParameters& ckks, const ThresholdParameters& threshold);

// InvalidArgument that says which error the scale means and which scale is enough.
absl::Status ValidateThreshold(const CkksParameters& ckks, const ThresholdParameters& threshold);

// The default parameters: degree 2^13, scale 2^61 over two primes, numbers in coefficients.
CkksParameters DefaultThresholdCkks();

class ThresholdClient {
 public:
  // `seed` is common and public. The context outlives the client. Errors: ValidateThreshold's.
  static absl::StatusOr<ThresholdClient> Create(const CkksContext& context,
                                                const ThresholdParameters& threshold, int client,
                                                const Seed& seed);

  int client() const { return client_; }
  const Hash& commitment() const { return commitment_; }
  const std::vector<uint8_t>& share() const { return share_; }

  // This client's part of the decryption of a sum of all clients' ciphertexts, for
  // CombineDecryptions. FailedPrecondition for a second one of the same chunk, for an earlier
  // round, and when as many were given as the noise is made for: then new keys are needed.
  absl::StatusOr<std::vector<uint8_t>> Decrypt(const Ciphertext& sum, ChunkId of);

 private:
  ThresholdClient(const CkksContext& context, const ThresholdParameters& threshold, int client)
      : context_(&context), threshold_(threshold), client_(client) {}

  const CkksContext* context_;
  ThresholdParameters threshold_;
  int client_;
  SecretKey key_;
  std::vector<uint8_t> share_;
  Hash commitment_{};
  std::set<uint32_t> decrypted_;  // chunks of round_
  uint64_t round_ = 0;
  int64_t decryptions_ = 0;
};

// Unauthenticated where a client's share is not what it had announced, DataLoss where it is none or
// another client's: what JoinKeyShares checks, for those that pass shares on.
absl::Status CheckKeyShare(const CkksContext& context, const Seed& seed, int client,
                           const Hash& commitment, std::span<const uint8_t> share);

// The key that all encrypt with. `commitments` and `shares` in the order of clients.
// Unauthenticated where a share does not fit what its client had announced.
absl::StatusOr<PublicKey> JoinKeyShares(const CkksContext& context, const Seed& seed,
                                        std::span<const Hash> commitments,
                                        std::span<const std::vector<uint8_t>> shares);

// The first values.size() numbers of the sum, from all clients' parts in their order; T is float or
// double. DataLoss where a part is of another sum, or of another key; it is not known which.
template <typename T>
absl::Status CombineDecryptions(const CkksContext& context, const Ciphertext& sum, int clients,
                                std::span<const std::vector<uint8_t>> parts, std::span<T> values);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_THRESHOLD_H_
