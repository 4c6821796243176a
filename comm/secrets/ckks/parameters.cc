#include "comm/secrets/ckks/parameters.h"

#include <algorithm>
#include <cmath>

#include "comm/secrets/ckks/primes.h"
#include "comm/secrets/crypto/hash.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn::ckks {
namespace {

struct SecurityRow {
  int log2_degree;
  int bits_128, bits_192, bits_256;
};

constexpr SecurityRow kTable[] = {
    {10, 27, 19, 14},    {11, 54, 37, 29},    {12, 109, 75, 58},
    {13, 218, 152, 118}, {14, 438, 305, 237}, {15, 881, 611, 476},
};

constexpr int kMinLog2Degree = 3, kMaxLog2Degree = 16;  // without a security level
constexpr int kPrimeBits = 60, kMostPrimes = 2;
// The encoder splits numbers at 2^40 and has 62 bits above (encoder.h).
constexpr int kMaxModulusBits = 100;
constexpr int kMinScale = 10, kMaxScale = 80, kMinSumBits = 3;

// The smallest degree of the table that allows `bits`; 0 if none does.
int DegreeFor(int bits, int security) {
  for (const SecurityRow& row : kTable) {
    if (bits <= MaxModulusBits(row.log2_degree, security)) return row.log2_degree;
  }
  return 0;
}

}  // namespace

int CkksParameters::primes() const { return CeilDiv(log2_scale + sum_bits, kPrimeBits); }
int CkksParameters::prime_bits() const { return CeilDiv(log2_scale + sum_bits, primes()); }
double CkksParameters::scale() const { return std::ldexp(1.0, log2_scale); }
double CkksParameters::sum_limit() const { return std::ldexp(1.0, sum_bits - 2); }

std::string CkksParameters::ToString() const {
  return StrCat(
      "degree 2^", log2_degree, ", scale 2^", log2_scale, ", ", modulus_bits(), "-bit modulus, ",
      security == 0 ? std::string("security not checked") : StrCat(security, "-bit security"), ", ",
      packing == Packing::kSlots ? "slots" : "coefficients");
}

int MaxModulusBits(int log2_degree, int security) {
  for (const SecurityRow& row : kTable) {
    if (row.log2_degree != log2_degree) continue;
    if (security == 128) return row.bits_128;
    if (security == 192) return row.bits_192;
    if (security == 256) return row.bits_256;
  }
  return 0;
}

absl::Status Validate(const CkksParameters& p) {
  if (p.security != 0 && p.security != 128 && p.security != 192 && p.security != 256) {
    return InvalidArgument("security level ", p.security,
                           " does not exist: use 128, 192 or 256, or 0 to check nothing");
  }
  if (p.log2_scale < kMinScale || p.log2_scale > kMaxScale) {
    return InvalidArgument("scale 2^", p.log2_scale, " is out of range: use 2^", kMinScale,
                           " to 2^", kMaxScale);
  }
  if (p.sum_bits < kMinSumBits || p.sum_bits > kMaxModulusBits - p.log2_scale) {
    return InvalidArgument("scale 2^", p.log2_scale, " with ", p.sum_bits,
                           " bits above it is out of range: use at least ", kMinSumBits,
                           " bits, and at most ", kMaxModulusBits, " in all");
  }
  if (p.security == 0) {
    if (p.log2_degree >= kMinLog2Degree && p.log2_degree <= kMaxLog2Degree) {
      return absl::OkStatus();
    }
    return InvalidArgument("polynomial degree 2^", p.log2_degree, " is out of range: use 2^",
                           kMinLog2Degree, " to 2^", kMaxLog2Degree);
  }
  const int most = MaxModulusBits(p.log2_degree, p.security);
  if (most == 0) {
    return InvalidArgument("polynomial degree 2^", p.log2_degree,
                           " has no known security: use 2^10 to 2^15");
  }
  if (p.modulus_bits() > most) {
    const int degree = DegreeFor(p.modulus_bits(), p.security);
    return InvalidArgument("scale 2^", p.log2_scale, " needs a modulus of ", p.modulus_bits(),
                           " bits, and ", p.security, "-bit security at polynomial degree 2^",
                           p.log2_degree, " allows ", most, ": use degree 2^", degree,
                           " or a smaller scale");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> ModulusPrimes(const CkksParameters& p) {
  static_assert(kMaxModulusBits <= kMostPrimes * kPrimeBits);
  return WithContext(TransformPrimes(p.prime_bits(), 2 * p.degree(), p.primes()), p.ToString());
}

absl::StatusOr<Fingerprint> FingerprintOf(const CkksParameters& p) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> primes, ModulusPrimes(p));
  std::string text =
      StrCat("DTNN CKKS sums 1: ", p.ToString(), ", sum bits ", p.sum_bits, ", primes");
  for (const uint64_t prime : primes) StrAppend(&text, " ", prime);
  DTNN_ASSIGN_OR_RETURN(const Hash hash, Sha256({AsBytes(text)}));
  Fingerprint fingerprint;
  std::copy_n(hash.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

}  // namespace dtnn::ckks
