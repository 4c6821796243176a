// The parameters of CKKS for sums, and which of them are secure.
//
// Larger degrees are more secure, larger scales more precise; the modulus follows from the scale:
// it must hold the sum times the scale. A modulus that is too large for the degree makes keys easy
// to find, so Validate refuses what the tables of HomomorphicEncryption.org do not allow (Albrecht
// et al., "Homomorphic Encryption Standard", 2018: classical attacks, ternary secrets, errors with
// a standard deviation of 3.2).

#ifndef DTNN_COMM_SECRETS_CKKS_PARAMETERS_H_
#define DTNN_COMM_SECRETS_CKKS_PARAMETERS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn::ckks {

// Where the numbers of a plaintext are. Slots: its values at complex roots of unity, as in most
// libraries, which makes products of plaintexts products of numbers. Sums need no products:
// coefficients hold twice as many numbers, with less noise, and need no Fourier transform.
enum class Packing { kCoefficients, kSlots };

struct CkksParameters {
  int log2_degree = 13;
  int log2_scale = 40;
  int security = 128;  // bits: 128, 192, 256; 0: not checked
  // Bits of the modulus beyond the scale: sums stay below 2^(sum_bits - 2), noise and the sign
  // have the other two.
  int sum_bits = 20;
  Packing packing = Packing::kCoefficients;

  size_t degree() const { return size_t{1} << log2_degree; }
  // One prime of up to 60 bits, or two equally long ones.
  int primes() const;
  int prime_bits() const;
  int modulus_bits() const { return primes() * prime_bits(); }
  double scale() const;
  // |numbers| of a sum are smaller.
  double sum_limit() const;
  // That one plaintext or ciphertext holds.
  size_t values() const { return packing == Packing::kSlots ? degree() / 2 : degree(); }

  // "degree 2^13, scale 2^40, 60-bit modulus, 128-bit security, coefficients".
  std::string ToString() const;
};

// The most bits of a modulus; 0 where the table has no such degree or level.
int MaxModulusBits(int log2_degree, int security);

// InvalidArgument that says what is allowed instead.
absl::Status Validate(const CkksParameters& parameters);

// The factors of the modulus, largest first. Of valid parameters.
absl::StatusOr<std::vector<uint64_t>> ModulusPrimes(const CkksParameters& parameters);

// The first bytes of the SHA-256 of everything above: what two parties compare.
using Fingerprint = std::array<uint8_t, 16>;
absl::StatusOr<Fingerprint> FingerprintOf(const CkksParameters& parameters);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_PARAMETERS_H_
