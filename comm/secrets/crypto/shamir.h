// Shares of a secret: any `threshold` of them give it back, fewer say nothing at all about it
// (Shamir, "How to share a secret", 1979).
//
// Each byte is the constant term of a polynomial of degree threshold - 1 over the field of 256
// elements (AES's), whose other coefficients are random; share i has its values at i + 1. A wrong
// share gives a wrong secret, not an error: check what was rebuilt against something public.

#ifndef DTNN_COMM_SECRETS_CRYPTO_SHAMIR_H_
#define DTNN_COMM_SECRETS_CRYPTO_SHAMIR_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

struct SecretShare {
  int index = 0;  // 0 .. shares - 1
  Secret value;
};

constexpr int kMaxShares = 255;

// InvalidArgument unless 1 <= threshold <= shares <= kMaxShares. Constant time.
absl::StatusOr<std::vector<SecretShare>> SplitSecret(const Secret& secret, int threshold,
                                                     int shares);

// The polynomials through the first `threshold` of some shares.
class SharePolynomials {
 public:
  // InvalidArgument where there are fewer, or where two have the same index. Time grows with the
  // square of the threshold.
  static absl::StatusOr<SharePolynomials> Through(std::span<const SecretShare> shares,
                                                  int threshold);
  // Time grows with the threshold.
  Secret secret() const { return At(0); }
  // What the share of that index is where all are right.
  Secret Share(int index) const;

 private:
  Secret At(uint8_t x) const;

  std::vector<SecretShare> shares_;
  std::vector<uint8_t> products_;  // of a share: the differences of its point and each other one
};

// From the first `threshold` of the shares, as Through.
absl::StatusOr<Secret> RebuildSecret(std::span<const SecretShare> shares, int threshold);

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_SHAMIR_H_
