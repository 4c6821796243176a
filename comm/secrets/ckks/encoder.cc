#include "comm/secrets/ckks/encoder.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "comm/secrets/crypto/wiped.h"
#include "tensor/errors.h"

namespace dtnn::ckks {
namespace {

constexpr int kSplit = 40;
// Coefficients of sums stay below 4 / pi times the limit of the numbers, and have twice the limit
// before they wrap around; the rest is for noise.
constexpr double kRoomForNoise = 1.5;

// round(x) = high 2^40 + low for |x| < 2^100, without branches.
struct SplitInteger {
  int64_t high, low;
};

SplitInteger SplitRounded(double x) {
  const int64_t high = int64_t(x * 0x1p-40);
  const double rest = x - double(high) * 0x1p40;  // exact, below 2^40 in magnitude
  // The bits of 1.5 2^52 + rest end in those of rest, rounded.
  constexpr double kShift = 0x1.8p52;
  const int64_t low = std::bit_cast<int64_t>(rest + kShift) - std::bit_cast<int64_t>(kShift);
  return {high, low};
}

}  // namespace

Encoder::Encoder(const CkksParameters& parameters, std::span<const uint64_t> primes)
    : parameters_(parameters) {
  for (const uint64_t prime : primes) {
    const Modulus& q = primes_.emplace_back(prime);
    two_to_40_.push_back(q.Prepare(q.Reduce(uint64_t{1} << kSplit)));
  }
  if (primes_.size() == 2) {
    const Modulus& q = primes_[1];
    first_inverse_ = q.Prepare(q.Inverse(q.Reduce(primes[0])));
  }
  if (parameters_.packing != Packing::kSlots) return;
  // Factor X^(2t) - e^(i a) into X^t - e^(i a/2) and X^t + e^(i a/2), whose angles are a/2 and
  // a/2 + pi; X^(n/2) - i is the first.
  std::vector<double> angles(parameters_.degree() / 2);
  roots_.resize(angles.size());
  if (angles.size() > 1) angles[1] = std::numbers::pi / 2;
  for (size_t k = 1; k < angles.size(); ++k) {
    const double half = angles[k] / 2;
    roots_[k] = std::polar(1.0, half);
    if (2 * k < angles.size()) {
      angles[2 * k] = half;
      angles[2 * k + 1] = half + std::numbers::pi;
    }
  }
}

void Encoder::Evaluate(std::span<double> coefficients) const {
  const size_t slots = coefficients.size() / 2;
  double* const re = coefficients.data();
  double* const im = re + slots;
  for (size_t m = 1, half = slots / 2; m < slots; m *= 2, half /= 2) {
    for (size_t i = 0; i < m; ++i) {
      const double c = roots_[m + i].real(), s = roots_[m + i].imag();
      for (size_t j = 2 * i * half, k = j + half; j < (2 * i + 1) * half; ++j, ++k) {
        const double x = c * re[k] - s * im[k], y = c * im[k] + s * re[k];
        re[k] = re[j] - x;
        im[k] = im[j] - y;
        re[j] += x;
        im[j] += y;
      }
    }
  }
}

void Encoder::Embed(std::span<double> coefficients) const {
  const size_t slots = coefficients.size() / 2;
  double* const re = coefficients.data();
  double* const im = re + slots;
  for (size_t m = slots / 2, half = 1; m >= 1; m /= 2, half *= 2) {
    for (size_t i = 0; i < m; ++i) {
      const double c = roots_[m + i].real(), s = -roots_[m + i].imag();
      for (size_t j = 2 * i * half, k = j + half; j < (2 * i + 1) * half; ++j, ++k) {
        const double x = re[j] - re[k], y = im[j] - im[k];
        re[j] += re[k];
        im[j] += im[k];
        re[k] = c * x - s * y;
        im[k] = c * y + s * x;
      }
    }
  }
  const double scale = 1.0 / double(slots);
  for (double& c : coefficients) c *= scale;
}

template <typename T>
absl::Status Encoder::Encode(std::span<const T> values, double limit,
                             std::span<uint64_t> residues) const {
  if (values.size() > parameters_.values()) {
    return InvalidArgument("cannot encode ", values.size(), " numbers: a plaintext holds ",
                           parameters_.values());
  }
  bool fits = true;
  for (const T value : values) fits &= std::abs(double(value)) < limit;  // false for NaN
  if (!fits) {
    return InvalidArgument("cannot encode: a number is NaN, infinite, or not below the limit of ",
                           limit, " in magnitude, beyond which the sum could wrap around");
  }
  const size_t n = parameters_.degree();
  WipedVector<double> coefficients(n);
  std::copy(values.begin(), values.end(), coefficients.begin());
  if (parameters_.packing == Packing::kSlots) Embed(coefficients);

  const double scale = parameters_.scale();
  for (size_t k = 0; k < primes_.size(); ++k) {
    const Modulus q = primes_[k];
    const Factor split = two_to_40_[k];
    uint64_t* const to = residues.data() + k * n;
    if (primes_.size() == 1) {
      for (size_t i = 0; i < n; ++i) {
        const SplitInteger x = SplitRounded(coefficients[i] * scale);
        to[i] = q.FromSigned(x.high * (int64_t{1} << kSplit) + x.low);
      }
    } else {
      for (size_t i = 0; i < n; ++i) {
        const SplitInteger x = SplitRounded(coefficients[i] * scale);
        // |high| < 2^60 and |low| <= 2^40 may be larger than a small prime.
        to[i] = q.Add(q.Multiply(q.ReduceSigned(x.high), split), q.ReduceSigned(x.low));
      }
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Encoder::Decode(std::span<const uint64_t> residues, std::span<T> values) const {
  const size_t n = parameters_.degree();
  WipedVector<double> coefficients(n);
  const double unit = 1 / parameters_.scale();
  const Modulus q = primes_[0];
  if (primes_.size() == 1) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t x = residues[i];
      const uint64_t negative = uint64_t{0} - uint64_t{x > q.value() / 2};
      coefficients[i] = double(int64_t(x - (q.value() & negative))) * unit;
    }
  } else {
    const Modulus p = primes_[1];
    const uint128 product = uint128{q.value()} * p.value();
    for (size_t i = 0; i < n; ++i) {
      // x = a + q ((b - a) / q mod p), the one number below q p with these residues.
      const uint64_t a = residues[i], b = residues[n + i];
      const uint128 x =
          a + uint128{q.value()} * p.Multiply(p.Subtract(b, p.Reduce(a)), first_inverse_);
      const uint128 negative = uint128{0} - uint128{x > product / 2};
      coefficients[i] = double(__int128(x - (product & negative))) * unit;
    }
  }
  const double limit = parameters_.sum_limit();
  bool fits = true;
  for (const double c : coefficients) fits &= std::abs(c) < kRoomForNoise * limit;
  if (!fits) {
    return DataLoss("cannot decode: numbers beyond ", limit,
                    ", which no sum reaches: the key, or a part of the decryption, is a wrong one, "
                    "or an update is none");
  }
  if (parameters_.packing == Packing::kSlots) Evaluate(coefficients);
  for (size_t i = 0; i < values.size(); ++i) values[i] = T(coefficients[i]);
  return absl::OkStatus();
}

template absl::Status Encoder::Encode(std::span<const float>, double, std::span<uint64_t>) const;
template absl::Status Encoder::Encode(std::span<const double>, double, std::span<uint64_t>) const;
template absl::Status Encoder::Decode(std::span<const uint64_t>, std::span<float>) const;
template absl::Status Encoder::Decode(std::span<const uint64_t>, std::span<double>) const;

}  // namespace dtnn::ckks
