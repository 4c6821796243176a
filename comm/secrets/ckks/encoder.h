// Numbers as polynomials with integer coefficients, and back: round(scale x).
//
// Coefficients: number i is coefficient i. Slots: the numbers are the values of the polynomial at
// n/2 complex roots of X^n = -1 (the canonical embedding). With complex coefficients c_k = m_k + i
// m_(k + n/2) these are the values of a polynomial of degree n/2 at the roots of X^(n/2) = i, so
// the transform has the stages of ntt.h with complex numbers, and its order of slots.
//
// Which numbers are given decides addresses and branches only through the range check.

#ifndef DTNN_COMM_SECRETS_CKKS_ENCODER_H_
#define DTNN_COMM_SECRETS_CKKS_ENCODER_H_

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "comm/secrets/ckks/modulus.h"
#include "comm/secrets/ckks/parameters.h"

namespace dtnn::ckks {

class Encoder {
 public:
  // The primes are those of the parameters, which are valid.
  Encoder(const CkksParameters& parameters, std::span<const uint64_t> primes);

  // At most values() numbers (the others are zero) as residues: the first prime's n, then the
  // second's. T is float or double. InvalidArgument where a number is NaN or infinite, or not below
  // `limit` in magnitude.
  template <typename T>
  absl::Status Encode(std::span<const T> values, double limit, std::span<uint64_t> residues) const;

  // The first values.size() numbers. DataLoss where a coefficient, also of the others, is beyond
  // what a sum with its noise can be: what has no such structure (a wrong key, a wrong part of a
  // decryption) does not pass by chance, since a quarter of all coefficients would be beyond.
  template <typename T>
  absl::Status Decode(std::span<const uint64_t> residues, std::span<T> values) const;

 private:
  void Embed(std::span<double> coefficients) const;     // from slots, in place
  void Evaluate(std::span<double> coefficients) const;  // to slots

  CkksParameters parameters_;
  std::vector<Modulus> primes_;
  std::vector<Factor> two_to_40_;  // modulo each prime
  Factor first_inverse_;           // of the first prime, modulo the second
  std::vector<std::complex<double>> roots_;
};

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_ENCODER_H_
