// Arithmetic modulo an odd prime q < 2^62, without divisions and without branches on values.
//
// A product with a number w that is known in advance costs two low and one high multiplication
// (Shoup): with w' = floor(w 2^64 / q), x w - floor(x w' / 2^64) q is in [0, 2q) for every 64-bit
// x. Prepare(w) computes w' with multiplications, too: its operands may be secret. Compilers turn
// the selections by masks into conditional moves or ands; the language does not promise it.

#ifndef DTNN_COMM_SECRETS_CKKS_MODULUS_H_
#define DTNN_COMM_SECRETS_CKKS_MODULUS_H_

#include <bit>
#include <cstdint>

namespace dtnn::ckks {

using uint128 = unsigned __int128;

// w and floor(w 2^64 / q).
struct Factor {
  uint64_t value = 0, quotient = 0;
};

constexpr uint64_t HighProduct(uint64_t a, uint64_t b) { return uint64_t((uint128{a} * b) >> 64); }

// x - m where x >= m, else x.
constexpr uint64_t ReduceOnce(uint64_t x, uint64_t m) {
  return x - (m & (uint64_t{0} - uint64_t{x >= m}));
}

class Modulus {
 public:
  static constexpr int kMaxBits = 61;

  constexpr Modulus() = default;
  // 2 < q < 2^62, odd. The only division; q is public.
  explicit constexpr Modulus(uint64_t q)
      : q_(q),
        ratio_high_(uint64_t((~uint128{0} / q) >> 64)),
        ratio_low_(uint64_t(~uint128{0} / q)) {}

  constexpr uint64_t value() const { return q_; }
  constexpr int bits() const { return std::bit_width(q_); }

  // For numbers below q.
  constexpr uint64_t Add(uint64_t a, uint64_t b) const { return ReduceOnce(a + b, q_); }
  constexpr uint64_t Subtract(uint64_t a, uint64_t b) const { return ReduceOnce(a + q_ - b, q_); }

  // `w` below q.
  constexpr Factor Prepare(uint64_t w) const {
    // floor(w 2^64 / q) is at most one more than w floor(2^128 / q) / 2^64, both rounded down.
    const uint64_t quotient = w * ratio_high_ + HighProduct(w, ratio_low_);
    const uint64_t remainder = uint64_t{0} - quotient * q_;
    return {w, quotient + uint64_t{remainder >= q_}};
  }
  // For any 64-bit x: in [0, 2q), and below q.
  constexpr uint64_t MultiplyLazily(uint64_t x, Factor w) const {
    return x * w.value - HighProduct(x, w.quotient) * q_;
  }
  constexpr uint64_t Multiply(uint64_t x, Factor w) const {
    return ReduceOnce(MultiplyLazily(x, w), q_);
  }
  // Any x, and w below q.
  constexpr uint64_t Multiply(uint64_t x, uint64_t w) const { return Multiply(x, Prepare(w)); }
  constexpr uint64_t Reduce(uint64_t x) const { return Multiply(x, Prepare(1)); }

  // |x| < q.
  constexpr uint64_t FromSigned(int64_t x) const { return uint64_t(x) + (q_ & uint64_t(x >> 63)); }
  // Any x.
  constexpr uint64_t ReduceSigned(int64_t x) const {
    const uint64_t sign = uint64_t(x >> 63);
    const uint64_t magnitude = Reduce((uint64_t(x) ^ sign) - sign);
    return Subtract(magnitude & ~sign, magnitude & sign);
  }

  // The exponent is public.
  constexpr uint64_t Power(uint64_t base, uint64_t exponent) const {
    uint64_t power = 1;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) power = Multiply(power, base);
      base = Multiply(base, base);
    }
    return power;
  }
  // For 0 < x < q: x^(q - 2), as q is prime.
  constexpr uint64_t Inverse(uint64_t x) const { return Power(x, q_ - 2); }

 private:
  uint64_t q_ = 0;
  uint64_t ratio_high_ = 0, ratio_low_ = 0;  // floor(2^128 / q)
};

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_MODULUS_H_
