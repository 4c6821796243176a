// Primes whose residues allow a number-theoretic transform.

#ifndef DTNN_COMM_SECRETS_CKKS_PRIMES_H_
#define DTNN_COMM_SECRETS_CKKS_PRIMES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn::ckks {

// For n < 2^62. Miller-Rabin with the first 12 primes as bases, which is exact below 2^64 (Sorenson
// and Webster, 2015).
bool IsPrime(uint64_t n);

// The `count` largest primes of exactly `bits` bits that are 1 modulo `step`, a power of two,
// largest first: those for which polynomials modulo X^(step/2) + 1 can be transformed.
// InvalidArgument where there are not as many.
absl::StatusOr<std::vector<uint64_t>> TransformPrimes(int bits, uint64_t step, int count);

// The smallest root of X^(order / 2) = -1 modulo the prime q, which is 1 modulo `order`, a power of
// two from 2 on.
uint64_t SmallestPrimitiveRoot(uint64_t order, uint64_t q);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_PRIMES_H_
