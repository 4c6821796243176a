#include "comm/ckks/ntt.h"

#include "comm/ckks/primes.h"

namespace dtnn::ckks {
namespace {

// The lowest `bits` bits of x in reverse order.
size_t ReverseBits(size_t x, int bits) {
  size_t reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= ((x >> i) & 1) << (bits - 1 - i);
  return reversed;
}

// x, y in [0, 4q) become x + r y, x - r y in [0, 4q).
inline void Butterfly(const Modulus& q, Factor r, uint64_t& x, uint64_t& y) {
  const uint64_t twice = 2 * q.value();
  const uint64_t a = ReduceOnce(x, twice), b = q.MultiplyLazily(y, r);
  x = a + b;
  y = a - b + twice;
}

// x, y in [0, 2q) become x + y, (x - y) r in [0, 2q): twice the inverse of the above.
inline void InverseButterfly(const Modulus& q, Factor r, uint64_t& x, uint64_t& y) {
  const uint64_t twice = 2 * q.value();
  const uint64_t a = x, b = y;
  x = ReduceOnce(a + b, twice);
  y = q.MultiplyLazily(a - b + twice, r);
}

}  // namespace

Ntt::Ntt(int log2_degree, uint64_t q) : modulus_(q) {
  const size_t degree = size_t{1} << log2_degree;
  const uint64_t root = SmallestPrimitiveRoot(2 * degree, q);
  std::vector<uint64_t> powers(degree, 1);
  for (size_t k = 1; k < degree; ++k) powers[k] = modulus_.Multiply(powers[k - 1], root);
  roots_.resize(degree);
  inverse_roots_.resize(degree);
  for (size_t k = 0; k < degree; ++k) {
    const size_t exponent = ReverseBits(k, log2_degree);
    roots_[k] = modulus_.Prepare(powers[exponent]);
    // root^-e = -root^(n - e).
    inverse_roots_[k] = modulus_.Prepare(exponent == 0 ? 1 : q - powers[degree - exponent]);
  }
  inverse_degree_ = modulus_.Prepare(modulus_.Inverse(modulus_.Reduce(degree)));
}

void Ntt::Forward(std::span<uint64_t> coefficients) const {
  const Modulus q = modulus_;
  uint64_t* const a = coefficients.data();
  const size_t n = roots_.size();
  for (size_t m = 1, half = n / 2; m < n; m *= 2, half /= 2) {
    for (size_t i = 0; i < m; ++i) {
      const Factor r = roots_[m + i];
      uint64_t* const x = a + 2 * i * half;
      uint64_t* const y = x + half;
      for (size_t j = 0; j < half; ++j) Butterfly(q, r, x[j], y[j]);
    }
  }
  for (size_t j = 0; j < n; ++j) a[j] = ReduceOnce(ReduceOnce(a[j], 2 * q.value()), q.value());
}

void Ntt::Inverse(std::span<uint64_t> values) const {
  const Modulus q = modulus_;
  uint64_t* const a = values.data();
  const size_t n = roots_.size();
  for (size_t m = n / 2, half = 1; m >= 1; m /= 2, half *= 2) {
    for (size_t i = 0; i < m; ++i) {
      const Factor r = inverse_roots_[m + i];
      uint64_t* const x = a + 2 * i * half;
      uint64_t* const y = x + half;
      for (size_t j = 0; j < half; ++j) InverseButterfly(q, r, x[j], y[j]);
    }
  }
  for (size_t j = 0; j < n; ++j) a[j] = q.Multiply(a[j], inverse_degree_);
}

}  // namespace dtnn::ckks
