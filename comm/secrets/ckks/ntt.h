// The number-theoretic transform of polynomials modulo X^n + 1 and a prime q that is 1 modulo 2n:
// their values at the n roots of X^n = -1. There, products of polynomials are products of numbers:
// n log n operations instead of n^2.
//
// X^n + 1 = X^n - r^2 = (X^(n/2) - r)(X^(n/2) + r), and so on down to n linear factors; each of
// log2(n) stages takes remainders modulo both factors with n/2 butterflies. Values grow up to 4q on
// the way and are reduced once, at the end (Harvey, "Faster arithmetic for number-theoretic
// transforms", 2014). The order of the values is that of the factors, which is bit-reversed; nobody
// needs another one. No branch and no address depends on coefficients.

#ifndef DTNN_COMM_SECRETS_CKKS_NTT_H_
#define DTNN_COMM_SECRETS_CKKS_NTT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "comm/secrets/ckks/modulus.h"

namespace dtnn::ckks {

// Factors, values and quotients apart, as vectors load them.
struct FactorTable {
  std::vector<uint64_t> values, quotients;

  Factor operator[](size_t i) const { return {values[i], quotients[i]}; }
  void Add(Factor f) {
    values.push_back(f.value);
    quotients.push_back(f.quotient);
  }
};

class Ntt {
 public:
  // n = 2^log2_degree >= 2; q < 2^61 is prime and 1 modulo 2n.
  Ntt(int log2_degree, uint64_t q);

  const Modulus& modulus() const { return modulus_; }
  size_t degree() const { return roots_.values.size(); }

  // In place, of n residues below q; the result is below q.
  void Forward(std::span<uint64_t> coefficients) const;
  void Inverse(std::span<uint64_t> values) const;

 private:
  Modulus modulus_;
  FactorTable roots_;          // of stage m = 1, 2, 4, ... at m .. 2m - 1
  FactorTable inverse_roots_;  // of the same butterflies
  Factor inverse_degree_;
};

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_NTT_H_
