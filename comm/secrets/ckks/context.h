// What all operations of one set of parameters share: primes, transforms, the encoder.
//
// A polynomial is the residues of its n coefficients modulo the first prime, then modulo the second
// where there is one: parameters().degree() x primes() numbers, here and in ciphertexts. Keys and
// ciphertexts hold transformed ones (ntt.h).

#ifndef DTNN_COMM_SECRETS_CKKS_CONTEXT_H_
#define DTNN_COMM_SECRETS_CKKS_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/ckks/encoder.h"
#include "comm/secrets/ckks/ntt.h"
#include "comm/secrets/ckks/parameters.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::ckks {

// 32 public bytes from which everybody makes the same uniform polynomial.
using Seed = std::array<uint8_t, 32>;

class CkksContext {
 public:
  // A few milliseconds; about half a megabyte per prime at degree 2^13. Errors: Validate's.
  static absl::StatusOr<std::shared_ptr<const CkksContext>> Create(
      const CkksParameters& parameters);

  const CkksParameters& parameters() const { return parameters_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  const Encoder& encoder() const { return encoder_; }
  size_t primes() const { return ntts_.size(); }
  const Modulus& prime(size_t k) const { return ntts_[k].modulus(); }
  // Numbers of a polynomial.
  size_t size() const { return primes() * parameters_.degree(); }

  void Forward(std::span<uint64_t> polynomial) const;
  void Inverse(std::span<uint64_t> polynomial) const;

  // sum += x.
  void AddTo(std::span<uint64_t> sum, std::span<const uint64_t> x) const;
  // polynomial += small, whose coefficients are below all primes in magnitude.
  void AddSmall(std::span<uint64_t> polynomial, std::span<const int64_t> small) const;
  // The same for any integers.
  void AddIntegers(std::span<uint64_t> polynomial, std::span<const int64_t> integers) const;

  // Calls f(q, i) for each number i of a polynomial and its prime q.
  template <typename F>
  void ForEach(const F& f) const {
    const size_t n = parameters_.degree();
    for (size_t k = 0; k < primes(); ++k) {
      const Modulus q = prime(k);
      for (size_t i = k * n; i < (k + 1) * n; ++i) f(q, i);
    }
  }

  // The uniform polynomial of a seed, taken as transformed.
  absl::StatusOr<std::vector<uint64_t>> Expand(const Seed& seed) const;

 private:
  CkksContext(const CkksParameters& parameters, std::span<const uint64_t> primes,
              const Fingerprint& fingerprint);

  const CkksParameters parameters_;
  const Fingerprint fingerprint_;
  const Encoder encoder_;
  std::vector<Ntt> ntts_;
};

// A transformed polynomial that others are multiplied with: each number with its quotient
// (modulus.h). Wiped, since most are secret.
class Multiplier {
 public:
  Multiplier() = default;
  Multiplier(const CkksContext& context, std::span<const uint64_t> polynomial);

  Factor operator[](size_t i) const { return {values_[i], quotients_[i]}; }
  std::span<const uint64_t> values() const { return values_; }

 private:
  WipedVector<uint64_t> values_, quotients_;
};

// Transformed small polynomials, drawn from the stream.
WipedVector<uint64_t> TransformedTernary(const CkksContext& context, ChaCha20Stream& stream);
WipedVector<uint64_t> TransformedError(const CkksContext& context, ChaCha20Stream& stream);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_CONTEXT_H_
