// How large the errors of decrypted sums are: predictions that tests compare with, and that tell a
// user what a scale means.

#ifndef DTNN_COMM_SECRETS_CKKS_NOISE_H_
#define DTNN_COMM_SECRETS_CKKS_NOISE_H_

#include "comm/secrets/ckks/parameters.h"

namespace dtnn::ckks {

enum class EncryptedWith { kSecretKey, kPublicKey };

// Standard deviation of a coefficient's error in a sum of `summands` fresh ciphertexts, in units of
// 1 / scale, rounding included. `key_shares`: of how many clients' keys the public key is the sum.
double CoefficientDeviation(const CkksParameters& parameters, EncryptedWith with, int summands,
                            int key_shares = 1);

// The deviation of a decrypted number, from that of its coefficients: a slot is a sum over all. The
// errors are normally distributed, but for slots under a public key: products of values of two
// random polynomials, whose tail is that of a Laplace distribution (one in a million beyond 8
// deviations).
double ValueDeviation(const CkksParameters& parameters, double coefficient_deviation);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_NOISE_H_
