// Keys of CKKS: a secret polynomial s with coefficients -1, 0, 1, and a public pair (b, a) with
// b = -a s + e, a uniform and e a small error, from which s cannot be found (ring learning with
// errors).
//
// A secret key is 32 bytes, from which s is drawn: clients that share a key share those, and
// nothing has to be parsed. Anyone who has them reads everything that was encrypted with them.

#ifndef DTNN_COMM_SECRETS_CKKS_KEYS_H_
#define DTNN_COMM_SECRETS_CKKS_KEYS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/ckks/context.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::ckks {

class SecretKey {
 public:
  // The same seed gives other keys with other parameters. A new seed: RandomSecret().
  static absl::StatusOr<SecretKey> FromSeed(const CkksContext& context, const Secret& seed);

  const Multiplier& s() const { return s_; }

 private:
  Multiplier s_;
};

struct PublicKey {
  Seed seed{};  // of a
  Multiplier b, a;
};

absl::StatusOr<PublicKey> MakePublicKey(const CkksContext& context, const SecretKey& key);

// b = -a s + e with a new error: also a client's share of a joint key (threshold.h).
absl::StatusOr<std::vector<uint64_t>> PublicHalf(const CkksContext& context, const SecretKey& key,
                                                 std::span<const uint64_t> a);

// With version and fingerprint; DataLoss, FailedPrecondition where FromBytes gets anything else.
std::vector<uint8_t> ToBytes(const CkksContext& context, const PublicKey& key);
absl::StatusOr<PublicKey> PublicKeyFromBytes(const CkksContext& context,
                                             std::span<const uint8_t> bytes);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_KEYS_H_
