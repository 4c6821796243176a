#include "comm/secrets/ckks/noise.h"

#include <cmath>

#include "comm/secrets/ckks/samplers.h"

namespace dtnn::ckks {

double CoefficientDeviation(const CkksParameters& parameters, EncryptedWith with, int summands,
                            int key_shares) {
  constexpr double kRounding = 1.0 / 12, kTernary = 2.0 / 3;
  double variance = kErrorVariance + kRounding;
  if (with == EncryptedWith::kPublicKey) {
    // c0 + c1 s = m + e0 + e1 s + e u: two products of an error and a ternary polynomial, where s
    // and e are sums of the clients'.
    variance += 2 * double(parameters.degree()) * kErrorVariance * kTernary * key_shares;
  }
  return std::sqrt(variance * summands);
}

double ValueDeviation(const CkksParameters& parameters, double coefficient_deviation) {
  const double deviation = coefficient_deviation / parameters.scale();
  if (parameters.packing == Packing::kCoefficients) return deviation;
  // The real part of n terms of magnitude one.
  return deviation * std::sqrt(double(parameters.degree()) / 2);
}

}  // namespace dtnn::ckks
